//! The engine of a thread: runs its tasks, and waits for the network on behalf of all of them.
//!
//! Decision: docs/decisions/0080-an-engine-is-a-queue-a-slab-and-a-loop.md

use crate::clock;
use crate::patience::{Patience, Step, Waiter};
use crate::port::{Port, wait_ready};
use crate::remote::env::RemoteEnv;
use crate::remote::flights::Flights;
use crate::remote::ready::{Ready, TaskWaker};
use crate::remote::tasks::Tasks;
use crate::remote::timers::Timers;
use crate::remote::transport::Transport;
use rustix::event::{PollFd, PollFlags};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Number of the future that [`Engine::block_on`] runs.
const MAIN: u32 = u32::MAX;

/// Runs futures on the thread that owns it, over one transport.
///
/// A turn runs every woken task, sends the batches that they posted with one system call per
/// server, and receives answers. Without work the thread spins, then yields, then sleeps until the
/// network, a timer or a waker of another thread wakes it.
///
/// Tasks run only inside [`Engine::block_on`]. Unfinished tasks are dropped with the engine;
/// batches that they posted may still happen.
///
/// Attached ports are served once per turn, so handlers of calls are tasks like others.
pub struct Engine<T: Transport> {
    shared: Rc<Shared<T>>,
    ports: RefCell<Vec<Box<dyn Port>>>,
    patience: Patience,
    waiter: RefCell<Waiter>,
    main: (Arc<TaskWaker>, Waker),
}

/// State shared by engine and endpoints.
pub(super) struct Shared<T> {
    pub(super) transport: RefCell<T>,
    /// Constant properties of the transport.
    pub(super) is_coherent: bool,
    pub(super) is_serial: bool,
    pub(super) flights: RefCell<Flights>,
    pub(super) timers: RefCell<Timers>,
    pub(super) tasks: RefCell<Tasks>,
    pub(super) ready: Arc<Ready>,
    /// Number of futures that yield in this turn.
    pub(super) yields: Cell<u32>,
    /// Start of this turn: exact enough for deadlines, and free.
    pub(super) turn_ns: Cell<u64>,
    pub(super) seed: Cell<u64>,
}

impl<T> Shared<T> {
    #[inline]
    pub(super) fn now_ns(&self) -> u64 {
        clock::now_ns()
    }
}

impl<T: Transport> Engine<T> {
    /// An engine for this thread.
    pub fn new(transport: T, patience: Patience) -> std::io::Result<Self> {
        let ready = Ready::new()?;
        let main = ready.waker(MAIN);
        let shared = Shared {
            is_coherent: transport.is_coherent(),
            is_serial: transport.is_serial(),
            transport: RefCell::new(transport),
            flights: RefCell::default(),
            timers: RefCell::default(),
            tasks: RefCell::default(),
            ready,
            yields: Cell::new(0),
            turn_ns: Cell::new(0),
            seed: Cell::new(crate::identity::draw()?),
        };
        let waiter = RefCell::new(Waiter::new(patience));
        Ok(Self { shared: Rc::new(shared), ports: RefCell::default(), patience, waiter, main })
    }

    /// Serves `port` from now on, while `block_on` runs.
    pub fn attach(&self, port: impl Port + 'static) {
        self.ports.borrow_mut().push(Box::new(port));
    }

    /// A new endpoint with counters of its own; each lane uses its own.
    pub fn endpoint(&self) -> RemoteEnv<T> {
        RemoteEnv::new(self.shared.clone(), false)
    }

    /// An endpoint for the services of this memory server, which write replicas.
    pub fn service_endpoint(&self) -> RemoteEnv<T> {
        RemoteEnv::new(self.shared.clone(), true)
    }

    /// Number of unfinished tasks.
    pub fn task_count(&self) -> usize {
        self.shared.tasks.borrow().count()
    }

    /// Runs `future` and all tasks until `future` ends.
    pub fn block_on<R>(&self, future: impl Future<Output = R>) -> R {
        let mut future = pin!(future);
        let mut woken = Vec::new();
        self.main.1.wake_by_ref();
        loop {
            self.shared.turn_ns.set(self.shared.now_ns());
            self.shared.yields.set(0);
            self.shared.ready.take(&mut woken);
            let mut runs = 0;
            let mut result = None;
            for place in woken.drain(..) {
                runs += 1;
                if place != MAIN {
                    self.run(place);
                } else if let Poll::Ready(ready) = self.run_main(future.as_mut()) {
                    // The tasks woken with it still run: nothing would wake them again.
                    result = Some(ready);
                }
            }
            let completions = self.progress();
            if let Some(result) = result {
                return result;
            }
            if completions > 0 || runs > self.shared.yields.get() {
                self.waiter.borrow_mut().busy();
            } else if runs > 0 {
                // The yielding future waits for another thread, which may need this processor.
                std::thread::yield_now();
            } else {
                self.wait();
            }
        }
    }

    fn run_main<R>(&self, future: Pin<&mut impl Future<Output = R>>) -> Poll<R> {
        self.main.0.runs();
        future.poll(&mut Context::from_waker(&self.main.1))
    }

    fn run(&self, place: u32) {
        let Some(mut running) = self.shared.tasks.borrow_mut().take(place) else { return };
        let mut context = Context::from_waker(&running.waker);
        match running.future.as_mut().poll(&mut context) {
            Poll::Pending => self.shared.tasks.borrow_mut().put_back(place, running),
            Poll::Ready(()) => {
                // The destructor may call the engine, so nothing is borrowed here.
                drop(running);
                self.shared.tasks.borrow_mut().end(place);
            }
        }
    }

    /// Sends, receives, fires timers, wakes tasks, and serves ports. Returns the number of
    /// completions and requests.
    fn progress(&self) -> usize {
        let shared = &*self.shared;
        let mut flights = shared.flights.borrow_mut();
        let mut count = 0;
        shared.transport.borrow_mut().progress(shared.turn_ns.get(), &mut |ticket, outcome| {
            count += 1;
            flights.complete(ticket, outcome);
        });
        drop(flights);
        shared.timers.borrow_mut().fire(shared.turn_ns.get());
        count + self.ports.borrow_mut().iter_mut().map(|port| port.serve()).sum::<usize>()
    }

    fn wait(&self) {
        let mut waiter = self.waiter.borrow_mut();
        match waiter.idle() {
            Step::Spin | Step::Yield => {}
            Step::Sleep => {
                if self.sleep() {
                    waiter.busy();
                }
            }
        }
    }

    /// Sleeps until there is work, and returns whether there is.
    fn sleep(&self) -> bool {
        let shared = &*self.shared;
        let mut transport = shared.transport.borrow_mut();
        let mut ports = self.ports.borrow_mut();
        // Arms all ports, even if the first has work: all are disarmed below.
        let has_work = ports.iter_mut().fold(false, |has_work, port| port.arm() | has_work);
        let has_work = transport.arm() | shared.ready.arm() | has_work;
        let deadlines = [shared.timers.borrow().next_ns(), transport.next_deadline_ns()];
        let next_ns = deadlines.into_iter().flatten().min().unwrap_or(u64::MAX);
        let left_ns = next_ns.saturating_sub(shared.now_ns()).min(self.patience.sleep_ns_max);
        let is_woken = has_work || {
            let mut waited = vec![PollFd::from_borrowed_fd(shared.ready.bell(), PollFlags::IN)];
            transport.descriptors(&mut waited);
            let mut of_ports = Vec::new();
            ports.iter().for_each(|port| port.descriptors(&mut of_ports));
            waited
                .extend(of_ports.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
            wait_ready(&mut waited, left_ns)
        };
        transport.disarm();
        shared.ready.disarm();
        ports.iter_mut().for_each(|port| port.disarm());
        is_woken
    }
}

impl<T: Transport> Drop for Engine<T> {
    fn drop(&mut self) {
        // Tasks hold endpoints, and endpoints hold the engine's state: without this loop, the cycle
        // would never be dropped. Dropping a task may add further ones.
        loop {
            let futures = self.shared.tasks.borrow_mut().clear();
            if futures.is_empty() {
                return;
            }
        }
    }
}
