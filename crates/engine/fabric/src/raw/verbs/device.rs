//! RDMA devices and their capabilities.

use super::abi;
use super::library::{Functions, functions};
use crate::verbs::VerbsError;
use std::ffi::CStr;
use std::ptr::NonNull;
use std::sync::Arc;

/// An open device with one protection domain for all its objects.
pub struct Device {
    pub(super) functions: &'static Functions,
    pub(super) context: NonNull<abi::Context>,
    pub(super) domain: NonNull<abi::ProtectionDomain>,
    name: String,
}

// SAFETY: the library's functions on a device may be called from any thread (rule 4).
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

/// The capabilities of a device that we use.
#[derive(Clone, Copy, Debug)]
pub struct DeviceLimits {
    /// Capacity of a request queue.
    pub requests: u32,
    /// Capacity of a completion queue.
    pub completions: u32,
    /// Concurrent reads and atomics of one connection, on the side that issues them.
    pub reads_started: u8,
    /// The same on the side that serves them.
    pub reads_served: u8,
    /// Whether the device supports atomics.
    pub has_atomics: bool,
    /// Number of ports; they count from 1.
    pub ports: u8,
}

/// The state of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Whether the port can pass packets.
    pub is_active: bool,
    /// Whether the port is an Ethernet port, addressed by GID.
    pub is_ethernet: bool,
    /// Maximal packet size (MTU) in the library's code: 1 is 256 bytes, and each next code twice
    /// that.
    pub transfer_unit: u8,
    /// Length of the port's GID table.
    pub gids: u32,
    /// The port's number in an InfiniBand network; 0 on Ethernet.
    pub local_identifier: u16,
}

/// The library's list of devices, freed on drop.
struct DeviceList {
    functions: &'static Functions,
    devices: *mut *mut abi::Device,
    count: usize,
}

impl DeviceList {
    fn get() -> Result<Self, VerbsError> {
        let functions = functions()?;
        let mut count = 0;
        // SAFETY: the library writes the number of devices to `count`, and returns that many
        // pointers.
        let devices = unsafe { (functions.get_device_list)(&raw mut count) };
        if devices.is_null() {
            let error = std::io::Error::last_os_error();
            if error.raw_os_error() == Some(rustix::io::Errno::NOSYS.raw_os_error()) {
                return Err(VerbsError::NoDevice(
                    "this host's kernel has no RDMA support".to_string(),
                ));
            }
            return Err(VerbsError::system("list RDMA devices", error));
        }
        Ok(Self { functions, devices, count: count as usize })
    }

    fn names(&self) -> impl Iterator<Item = (String, *mut abi::Device)> {
        (0..self.count).map(|index| {
            // SAFETY: `index` is below the number of devices, which live as long as the list, as do
            // their names.
            let (device, name) = unsafe {
                let device = *self.devices.add(index);
                (device, CStr::from_ptr((self.functions.get_device_name)(device)))
            };
            (name.to_string_lossy().into_owned(), device)
        })
    }
}

impl Drop for DeviceList {
    fn drop(&mut self) {
        // SAFETY: the list came from the library, and opened devices outlive it.
        unsafe { (self.functions.free_device_list)(self.devices) }
    }
}

/// The names of all RDMA devices of this host.
pub fn device_names() -> Result<Vec<String>, VerbsError> {
    Ok(DeviceList::get()?.names().map(|(name, _)| name).collect())
}

impl Device {
    /// Opens the device called `name`.
    pub fn open(name: &str) -> Result<Arc<Self>, VerbsError> {
        let list = DeviceList::get()?;
        let found = list.names().find(|(found, _)| found == name);
        let (name, device) = found.ok_or_else(|| VerbsError::NoSuchDevice(name.to_string()))?;
        let functions = list.functions;
        // SAFETY: the device is in the list, which is still here.
        let context = NonNull::new(unsafe { (functions.open_device)(device) });
        let context = context.ok_or_else(|| VerbsError::failed("open an RDMA device"))?;
        // SAFETY: the device is open.
        let Some(domain) = NonNull::new(unsafe { (functions.alloc_pd)(context.as_ptr()) }) else {
            let error = VerbsError::failed("make a protection domain");
            // SAFETY: the device was opened above, and no other object refers to it.
            unsafe { (functions.close_device)(context.as_ptr()) };
            return Err(error);
        };
        Ok(Arc::new(Self { functions, context, domain, name }))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn limits(&self) -> Result<DeviceLimits, VerbsError> {
        // SAFETY: zeros are values of this structure of numbers.
        let mut attributes: abi::DeviceAttributes = unsafe { std::mem::zeroed() };
        // SAFETY: the device is open, and the library fills a structure of this size.
        let code =
            unsafe { (self.functions.query_device)(self.context.as_ptr(), &raw mut attributes) };
        VerbsError::check("query an RDMA device", code)?;
        let to_byte = |count: i32| count.clamp(0, i32::from(u8::MAX)) as u8;
        Ok(DeviceLimits {
            requests: attributes.requests_max.max(0) as u32,
            completions: attributes.completions_max.max(0) as u32,
            reads_started: to_byte(attributes.reads_started_max),
            reads_served: to_byte(attributes.reads_served_max),
            has_atomics: attributes.atomics != abi::ATOMICS_NONE,
            ports: attributes.port_count,
        })
    }

    /// The state of a port.
    pub fn port(&self, port: u8) -> Result<PortState, VerbsError> {
        // SAFETY: zeros are values of this structure of numbers.
        let mut attributes: abi::PortAttributes = unsafe { std::mem::zeroed() };
        // SAFETY: the device is open, and the library fills at most a structure of this size.
        let code = unsafe {
            (self.functions.query_port)(self.context.as_ptr(), port, &raw mut attributes)
        };
        VerbsError::check("query the state of an RDMA port", code)?;
        Ok(PortState {
            is_active: attributes.state == abi::PORT_ACTIVE,
            is_ethernet: attributes.link_layer == abi::LINK_LAYER_ETHERNET,
            transfer_unit: attributes.transfer_unit as u8,
            gids: attributes.gid_count.max(0) as u32,
            local_identifier: attributes.local_identifier,
        })
    }

    /// A GID of a port, by its index. Unused entries hold zeros, or the query fails.
    pub fn gid(&self, port: u8, index: u32) -> Result<[u8; 16], VerbsError> {
        let mut gid = abi::Gid::default();
        // SAFETY: the device is open, and the library fills 16 bytes.
        let code = unsafe {
            (self.functions.query_gid)(self.context.as_ptr(), port, index as i32, &raw mut gid)
        };
        VerbsError::check("query a GID of an RDMA port", code)?;
        Ok(gid.0)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: everything made from the device or its domain holds this object (rule 1), so
        // nothing is left.
        unsafe {
            (self.functions.dealloc_pd)(self.domain.as_ptr());
            (self.functions.close_device)(self.context.as_ptr());
        }
    }
}
