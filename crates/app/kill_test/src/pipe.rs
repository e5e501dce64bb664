//! The pipe from the child to the parent: messages of fixed size, each written by one call.
//!
//! A message that was written is read, even if the child is killed right after it. So what the
//! child has reported is what a client would know.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;

/// Bytes of a message: four words.
const MESSAGE_BYTES: usize = 32;

/// Something that takes a while, during which the child may be killed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u64)]
pub enum Task {
    Checkpoint,
    /// Creates the table `extra` and fills it in one transaction.
    CreateTable,
    DropTable,
    CreateIndex,
    DropIndex,
    /// Gives all twins the same name, then each its own without waiting for the disk, and creates
    /// the unique index.
    CreateUnique,
    DropUnique,
}

impl Task {
    /// Whether an object is there at the end.
    pub fn creates(self) -> bool {
        matches!(self, Self::CreateTable | Self::CreateIndex | Self::CreateUnique)
    }

    /// The task that makes this one possible.
    pub fn opposite(self) -> Self {
        match self {
            Self::Checkpoint => Self::Checkpoint,
            Self::CreateTable => Self::DropTable,
            Self::DropTable => Self::CreateTable,
            Self::CreateIndex => Self::DropIndex,
            Self::DropIndex => Self::CreateIndex,
            Self::CreateUnique => Self::DropUnique,
            Self::DropUnique => Self::CreateUnique,
        }
    }
}

/// All tasks.
pub const TASKS: [Task; 7] = [
    Task::Checkpoint,
    Task::CreateTable,
    Task::DropTable,
    Task::CreateIndex,
    Task::DropIndex,
    Task::CreateUnique,
    Task::DropUnique,
];

/// A report of the child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// The database is being opened.
    Opening,
    /// Rows are being loaded.
    Loading,
    Opened,
    /// The last number of a worker in the database.
    Resumed {
        worker: u32,
        number: u64,
    },
    /// Workers begin.
    Running,
    /// A worker's transaction was acknowledged; a certain one after it was on the disk.
    Committed {
        worker: u32,
        number: u64,
        is_certain: bool,
    },
    /// A transaction that has only read, or was rolled back, has returned this number.
    Seen {
        worker: u32,
        number: u64,
    },
    /// The number of groups so far.
    Groups {
        count: u64,
    },
    /// Commits have ended. The database stays open.
    Quiet,
    Begin {
        task: Task,
        generation: u64,
    },
    End {
        task: Task,
        generation: u64,
    },
}

impl Message {
    fn words(self) -> [u64; 4] {
        match self {
            Self::Opening => [1, 0, 0, 0],
            Self::Loading => [2, 0, 0, 0],
            Self::Opened => [3, 0, 0, 0],
            Self::Resumed { worker, number } => [4, worker.into(), number, 0],
            Self::Running => [5, 0, 0, 0],
            Self::Committed { worker, number, is_certain } => {
                [6, worker.into(), number, is_certain.into()]
            }
            Self::Seen { worker, number } => [7, worker.into(), number, 0],
            Self::Groups { count } => [8, count, 0, 0],
            Self::Quiet => [9, 0, 0, 0],
            Self::Begin { task, generation } => [10, task as u64, generation, 0],
            Self::End { task, generation } => [11, task as u64, generation, 0],
        }
    }

    fn of(words: [u64; 4]) -> Result<Self> {
        let worker = u32::try_from(words[1]).unwrap_or(u32::MAX);
        let task = || {
            let task = TASKS.into_iter().find(|task| *task as u64 == words[1]);
            task.context("the child reports an unknown task")
        };
        Ok(match words[0] {
            1 => Self::Opening,
            2 => Self::Loading,
            3 => Self::Opened,
            4 => Self::Resumed { worker, number: words[2] },
            5 => Self::Running,
            6 => Self::Committed { worker, number: words[2], is_certain: words[3] == 1 },
            7 => Self::Seen { worker, number: words[2] },
            8 => Self::Groups { count: words[1] },
            9 => Self::Quiet,
            10 => Self::Begin { task: task()?, generation: words[2] },
            11 => Self::End { task: task()?, generation: words[2] },
            kind => bail!("the child reports a message of the unknown kind {kind}"),
        })
    }
}

/// The child's end. It has no buffer, and threads share it.
pub struct Sender(File);

impl Sender {
    /// Standard output.
    pub fn stdout() -> Result<Self> {
        let stdout = std::io::stdout();
        let owned = stdout.as_fd().try_clone_to_owned().context("standard output is closed")?;
        Ok(Self(File::from(owned)))
    }

    pub fn send(&self, message: Message) -> Result<()> {
        let mut bytes = [0; MESSAGE_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(message.words()) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        (&self.0).write_all(&bytes).context("the parent does not listen any more")
    }
}

/// Reads messages until the child has ended. The last one may be cut short.
pub fn receive(pipe: &mut impl Read, mut found: impl FnMut(Message)) -> Result<()> {
    let mut bytes = [0; MESSAGE_BYTES];
    while pipe.read_exact(&mut bytes).is_ok() {
        let mut words = [0; 4];
        for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().expect("eight bytes"));
        }
        found(Message::of(words)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_pipe_and_a_cut_one_is_dropped() {
        let mut all = vec![
            Message::Opening,
            Message::Loading,
            Message::Opened,
            Message::Resumed { worker: 3, number: 1 << 40 },
            Message::Running,
            Message::Committed { worker: 7, number: 9, is_certain: true },
            Message::Committed { worker: 7, number: 10, is_certain: false },
            Message::Seen { worker: 1, number: 2 },
            Message::Groups { count: 5 },
            Message::Quiet,
        ];
        for task in TASKS {
            all.push(Message::Begin { task, generation: 4 });
            all.push(Message::End { task, generation: 5 });
        }
        let mut bytes: Vec<u8> =
            all.iter().flat_map(|message| message.words()).flat_map(u64::to_le_bytes).collect();
        bytes.extend([1, 0, 0]);
        let mut found = Vec::new();
        receive(&mut &bytes[..], |message| found.push(message)).expect("they are messages");
        assert_eq!(found, all);
        assert!(receive(&mut &[99; 32][..], |_| {}).is_err());
    }
}
