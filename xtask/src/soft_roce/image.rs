//! Extracts the kernel from its self-extracting image: emulated, the extraction takes longer than
//! the rest of the boot.
//!
//! ```text
//! byte  | bytes | of the image that unpacks itself [Linux, Documentation/x86/boot.rst]
//! 0x1f1 |     1 | sectors of 512 bytes before what follows, less one
//! 0x248 |     4 | where the packed kernel begins behind them
//! 0x24c |     4 | its length, with 4 bytes behind it that tell how long it is unpacked
//! ```

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The first bytes of an `xz` file.
const XZ: &[u8] = b"\xfd7zXZ\0";
/// The first bytes of a program, and so of an extracted kernel.
const PROGRAM: &[u8] = b"\x7fELF";

/// The extracted kernel: `unpacked`, made from `packed` unless it exists; or `packed` itself, which
/// also boots, if its format is unknown here.
pub fn unpack(packed: &Path, unpacked: &Path) -> Result<PathBuf> {
    if unpacked.is_file() {
        return Ok(unpacked.to_path_buf());
    }
    let image = fs::read(packed).with_context(|| format!("read {}", packed.display()))?;
    let Some(kernel) = packed_kernel(&image) else { return Ok(packed.to_path_buf()) };
    let (source, scratch) = (unpacked.with_extension("xz"), unpacked.with_extension("new"));
    fs::write(&source, kernel).context("write the packed kernel")?;
    unxz(&source, &scratch)?;
    let begins = fs::read(&scratch).context("read the unpacked kernel")?.starts_with(PROGRAM);
    ensure!(begins, "{} does not unpack to a program", packed.display());
    fs::remove_file(&source).context("remove the packed kernel")?;
    // The final name marks it as complete.
    fs::rename(&scratch, unpacked).context("keep the unpacked kernel")?;
    Ok(unpacked.to_path_buf())
}

/// Unpacks an `xz` file.
pub fn unxz(packed: &Path, unpacked: &Path) -> Result<()> {
    let output = File::create(unpacked).context("create the unpacked file")?;
    let mut command = Command::new("xz");
    command.args(["--decompress", "--stdout"]).arg(packed).stdin(Stdio::null()).stdout(output);
    let status = command.status().context("start xz")?;
    ensure!(status.success(), "`xz` of {} ended with {status}", packed.display());
    Ok(())
}

/// The packed kernel in an image, if it is an `xz` file.
fn packed_kernel(image: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| {
        let bytes = image.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().expect("4 bytes")) as usize)
    };
    let sectors = usize::from(*image.get(0x1f1)?) + 1;
    let start = 512 * sectors + number(0x248)?;
    let kernel = image.get(start..)?.get(..number(0x24c)?.checked_sub(4)?)?;
    kernel.starts_with(XZ).then_some(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_has_its_kernel_where_its_head_says() {
        let mut image = vec![0; 2048];
        image[0x1f1] = 1;
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&14_u32.to_le_bytes());
        assert_eq!(packed_kernel(&image), None, "it is packed in another way");
        image[1040..1050].copy_from_slice(b"\xfd7zXZ\x001234");
        assert_eq!(packed_kernel(&image), Some(&b"\xfd7zXZ\x001234"[..]));
        assert_eq!(packed_kernel(&image[..1049]), None, "it is cut off");
        assert_eq!(packed_kernel(&image[..0x24b]), None);
    }
}
