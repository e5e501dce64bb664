//! The engine of a thread: runs its tasks, and waits for the network on behalf of all of them.

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

/// Place of the future that [`Engine::block_on`] runs.
const MAIN: u32 = u32::MAX;

/// Runs futures on the thread that owns it, over one transport.
///
/// A turn runs every task that was woken, sends what they posted with one system call per server, and
/// receives what has arrived. When there is nothing to do, the thread turns, then yields, then sleeps until
/// the network, a timer, or a waker used by another thread has something for it.
///
/// Tasks run only inside [`Engine::block_on`]. Those that have not ended when the engine is dropped are
/// dropped with it; batches that they posted may still happen.
///
/// Ports that are attached are served once in each turn, so that handlers of calls are tasks like others.
pub struct Engine<T: Transport> {
    shared: Rc<Shared<T>>,
    ports: RefCell<Vec<Box<dyn Port>>>,
    patience: Patience,
    waiter: RefCell<Waiter>,
    main: (Arc<TaskWaker>, Waker),
}

/// What engine and endpoints share.
pub(super) struct Shared<T> {
    pub(super) transport: RefCell<T>,
    /// What the transport says of itself, which stays as it is.
    pub(super) is_coherent: bool,
    pub(super) is_serial: bool,
    pub(super) flights: RefCell<Flights>,
    pub(super) timers: RefCell<Timers>,
    pub(super) tasks: RefCell<Tasks>,
    pub(super) ready: Arc<Ready>,
    /// Number of futures that let others run in this turn.
    pub(super) yields: Cell<u32>,
    /// When this turn began: exact enough for deadlines, and at no cost.
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

    /// Serves `port` from now on, as long as a future runs here.
    pub fn attach(&self, port: impl Port + 'static) {
        self.ports.borrow_mut().push(Box::new(port));
    }

    /// An endpoint of its own counters; each lane uses its own.
    pub fn endpoint(&self) -> RemoteEnv<T> {
        RemoteEnv::new(self.shared.clone())
    }

    /// Tasks that have not ended.
    pub fn task_count(&self) -> usize {
        self.shared.tasks.borrow().count()
    }

    /// Runs `future` to its end, and tasks meanwhile.
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
                    // Whoever was woken with it still runs: nobody would wake it again.
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
                // Whoever runs here waits for somebody else, who may need this processor.
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
                // Its own code may run here, so nothing is borrowed.
                drop(running);
                self.shared.tasks.borrow_mut().end(place);
            }
        }
    }

    /// Sends, receives, and wakes whoever waited for it or for this moment, and serves ports. How much was received.
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

    /// Sleeps until there is something to do, and tells whether there is.
    fn sleep(&self) -> bool {
        let shared = &*self.shared;
        let mut transport = shared.transport.borrow_mut();
        let mut ports = self.ports.borrow_mut();
        // All are armed, even if the first has something to do: all are disarmed below.
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
        // Tasks hold endpoints, and endpoints the engine's parts: nobody else would ever drop them. What
        // they do when dropped may add further ones.
        loop {
            let futures = self.shared.tasks.borrow_mut().clear();
            if futures.is_empty() {
                return;
            }
        }
    }
}
