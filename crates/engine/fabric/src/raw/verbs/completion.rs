//! Completion queues, on which a card reports finished requests.

use super::abi;
use super::device::Device;
use crate::verbs::VerbsError;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

/// A queue of completions, and the channel by which it wakes a sleeping thread.
pub struct CompletionQueue {
    queue: NonNull<abi::CompletionQueue>,
    channel: NonNull<abi::CompletionChannel>,
    pub(super) device: Arc<Device>,
}

// SAFETY: the library's functions on queue and channel may be called from any thread (rule 4).
unsafe impl Send for CompletionQueue {}
// SAFETY: as above.
unsafe impl Sync for CompletionQueue {}

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub struct Completion {
    /// The identifier that the request was posted with.
    pub id: u64,
    /// Whether it succeeded. If not, the connection is lost, and all later requests fail too.
    pub is_success: bool,
    /// The library's error number; 0 for success.
    pub status: u32,
    /// Whether this is a received message. Unspecified for failures.
    pub is_receive: bool,
    pub bytes: u32,
    /// The number of the local queue pair.
    pub queue_pair: u32,
}

impl CompletionQueue {
    /// A queue for `entries` completions at a time.
    pub fn new(device: &Arc<Device>, entries: u32) -> Result<Arc<Self>, VerbsError> {
        let functions = device.functions;
        let context = device.context.as_ptr();
        // SAFETY: the device is open.
        let channel = NonNull::new(unsafe { (functions.create_channel)(context) });
        let channel = channel.ok_or_else(|| VerbsError::failed("create a completion channel"))?;
        // SAFETY: the device is open, the channel belongs to it.
        let queue = unsafe {
            (functions.create_cq)(context, entries as i32, null_mut(), channel.as_ptr(), 0)
        };
        let Some(queue) = NonNull::new(queue) else {
            let error = VerbsError::failed("create a completion queue");
            // SAFETY: the channel was made above, and no other object refers to it.
            unsafe { (functions.destroy_channel)(channel.as_ptr()) };
            return Err(error);
        };
        let queue = Self { queue, channel, device: device.clone() };
        // A thread that reads an event which another thread has taken must not block.
        let set = rustix::io::ioctl_fionbio(queue.as_fd(), true);
        set.map_err(|error| VerbsError::system("set up a completion channel", error.into()))?;
        Ok(Arc::new(queue))
    }

    pub(super) fn as_ptr(&self) -> *mut abi::CompletionQueue {
        self.queue.as_ptr()
    }

    /// Takes at most `into.len()` completions from the queue. Returns their number.
    #[inline]
    pub fn poll(&self, into: &mut Vec<Completion>) -> Result<usize, VerbsError> {
        const AT_ONCE: usize = 16;
        let mut taken = [abi::WorkCompletion::default(); AT_ONCE];
        let queue = self.queue.as_ptr();
        // SAFETY: the queue lives, so does its device, whose provider set the function; the array
        // has room for as many completions as the call may return.
        let count = unsafe {
            let poll = (*(*queue).context).operations.poll_cq;
            poll(queue, AT_ONCE as i32, taken.as_mut_ptr())
        };
        let count =
            usize::try_from(count).map_err(|_| VerbsError::failed("poll for completions"))?;
        into.extend(taken[..count].iter().map(|completion| Completion {
            id: completion.id,
            is_success: completion.status == abi::STATUS_SUCCESS,
            status: completion.status as u32,
            is_receive: completion.operation & abi::COMPLETED_RECEIVE != 0,
            bytes: completion.bytes,
            queue_pair: completion.queue_pair,
        }));
        Ok(count)
    }

    /// Requests a wake-up by the next completion. The caller then polls for earlier completions.
    pub fn arm(&self) -> Result<(), VerbsError> {
        let queue = self.queue.as_ptr();
        // SAFETY: as in `poll`.
        let code = unsafe {
            let notify = (*(*queue).context).operations.req_notify_cq;
            notify(queue, 0)
        };
        VerbsError::check("request a wake-up by a completion", code)
    }

    /// Takes all events from the channel, so that its descriptor is no longer readable.
    pub fn quiet(&self) {
        let (mut queue, mut context) = (null_mut(), null_mut());
        let functions = self.device.functions;
        // SAFETY: the channel lives; it serves this queue alone, so that every event is this
        // queue's, and is acknowledged at once. Without an event the call returns, since the
        // descriptor does not block.
        unsafe {
            while (functions.get_cq_event)(self.channel.as_ptr(), &raw mut queue, &raw mut context)
                == 0
            {
                (functions.ack_cq_events)(queue, 1);
            }
        }
    }
}

impl AsFd for CompletionQueue {
    /// Readable once a completion has come after `arm`.
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the descriptor is the channel's, which lives as long as this object.
        unsafe { BorrowedFd::borrow_raw((*self.channel.as_ptr()).descriptor) }
    }
}

impl Drop for CompletionQueue {
    fn drop(&mut self) {
        let functions = self.device.functions;
        // SAFETY: queue pairs hold their queues (rule 1), so none is left, and no event is
        // unacknowledged.
        unsafe {
            (functions.destroy_cq)(self.queue.as_ptr());
            (functions.destroy_channel)(self.channel.as_ptr());
        }
    }
}
