//! Opening a directory: create a database in it, or find out what a restart loads.

use crate::backup::{control_of, survey_of};
use crate::checkpoint::remove_incomplete;
use crate::control::{CONTROL_NEW_NAME, Control};
use crate::error::{DurabilityError, Result};
use crate::loss::{self, AcceptedLoss};
use crate::restore::Restore;
use redo_log::{Config, DatabaseId, Log, OnDamage, Survey, segment_of};
use storage::{Directory, Disk, PlantedBug};

/// A directory that was opened.
pub struct Opened<D: Disk> {
    pub control: Control,
    pub log: Log<D>,
    /// The rows to load. A new database has none.
    pub restore: Restore<D>,
    /// The lowest number that a slot of the timestamp vector may begin with: every number in the
    /// log is lower.
    pub first_counter: u64,
    /// The loss that the caller has accepted.
    pub loss: Option<AcceptedLoss>,
    /// Whether the last start was closed, so that the log could not have a torn tail.
    pub was_closed: bool,
}

/// The choices at an opening.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenOptions {
    /// The identity that a new database gets: random bytes.
    pub new_database: DatabaseId,
    pub on_damage: OnDamage,
    /// Size of a segment of the log, if it is not the usual one.
    pub segment_bytes: Option<u64>,
}

impl OpenOptions {
    pub const fn new(new_database: DatabaseId) -> Self {
        Self { new_database, on_damage: OnDamage::Refuse, segment_bytes: None }
    }

    fn config(&self, database: DatabaseId) -> Config {
        let config = Config::new(database);
        Config { segment_bytes: self.segment_bytes.unwrap_or(config.segment_bytes), ..config }
    }

    fn config_of(&self, control: &Control) -> Config {
        let (reached_group, needed_group) = (control.reached_group(), control.needed_group());
        Config { reached_group, needed_group, ..self.config(control.identity()) }
    }
}

/// Opens the database in a directory, or creates one if the directory is empty. After that the log
/// has a new incarnation, and nothing of the last one that its last group does not cover counts.
pub async fn open_directory<D: Disk>(
    directory: &Directory<D>,
    options: OpenOptions,
) -> Result<Opened<D>> {
    let Some(mut control) = Control::read(directory).await? else {
        return create(directory, options).await;
    };
    // A process that was killed may have left the control file with a name that is not durable, and
    // everything below relies on it.
    directory.sync().await?;
    let config = options.config_of(&control);
    let start = control.replay_from();
    let opened = Log::open(directory.clone(), config, start, options.on_damage).await?;
    let survey = opened.survey;
    let loss = match survey.loss.clone() {
        Some(loss) => {
            Some(loss::settle(directory, &mut control, loss, survey.last_number()).await?)
        }
        None => None,
    };
    let checkpoint = control.checkpoint.iter().flat_map(|checkpoint| &checkpoint.counters);
    let highest = survey.highest_counters().iter().chain(checkpoint).max().copied();
    let was_closed = survey.is_closed();
    let restore = Restore::new(directory.clone(), control.clone(), survey).await?;
    // A checkpoint that a crash has interrupted takes room that the log may need.
    remove_incomplete(directory, &control).await?;
    let is_low = directory.has_planted(PlantedBug::FirstCounterNotRaised);
    let first_counter = highest.filter(|_| !is_low).unwrap_or(0);
    Ok(Opened { control, log: opened.log, restore, first_counter, loss, was_closed })
}

/// Reads the database in a directory without changing anything: its control file, its log, and the
/// rows that a restart would load.
pub async fn read_directory<D: Disk>(
    directory: &Directory<D>,
) -> Result<(Control, Survey, Restore<D>)> {
    let control = control_of(directory).await?;
    let survey = survey_of(directory, &control).await?;
    let restore = Restore::new(directory.clone(), control.clone(), survey.clone()).await?;
    Ok((control, survey, restore))
}

async fn create<D: Disk>(directory: &Directory<D>, options: OpenOptions) -> Result<Opened<D>> {
    let is_left = |name: &str| name == CONTROL_NEW_NAME || segment_of(name).is_some();
    if let Some(other) = directory.list().await?.into_iter().find(|entry| !is_left(&entry.name)) {
        let directory = directory.label();
        return Err(DurabilityError::NotEmpty { directory, file: other.name });
    }
    let control = Control::new(options.new_database);
    // The log first: with a control file, a missing log is damage.
    let log = Log::create(directory.clone(), options.config(options.new_database)).await?;
    control.write(directory).await?;
    let restore = Restore::new(directory.clone(), control.clone(), Survey::default()).await?;
    Ok(Opened { control, log, restore, first_counter: 0, loss: None, was_closed: true })
}
