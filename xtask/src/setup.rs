//! `cargo xtask setup`: prepares a clone for work, by installing the hooks of git.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;

/// From the workspace root, where git starts hooks.
const HOOKS: &str = "xtask/hooks";

/// Has git start the hooks of the work tree, so that they are never older than the sources.
pub fn run(root: &Path) -> Result<()> {
    let git = |arguments: &[&str]| {
        process::capture(Command::new("git").current_dir(root).args(arguments))
    };
    let configured = git(&["config", "--default", "", "core.hooksPath"])?;
    let configured = configured.trim();
    ensure!(
        configured.is_empty() || configured == HOOKS,
        "git already uses the hooks in `{configured}`: call {HOOKS}/commit-msg from there, or \
         run `git config --unset core.hooksPath` and repeat this command"
    );
    git(&["config", "core.hooksPath", HOOKS])?;
    println!("git now checks commit messages with {HOOKS}/commit-msg");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_are_installed_unless_there_are_others() {
        let root = std::env::temp_dir().join(format!("namdb-setup-{}", std::process::id()));
        std::fs::create_dir(&root).expect("the temporary folder can be written");
        let git = |arguments: &[&str]| {
            process::capture(Command::new("git").current_dir(&root).args(arguments))
                .expect("git carries this out")
        };
        git(&["init", "--quiet"]);
        for _ in 0..2 {
            run(&root).expect("no other hooks are configured");
            assert_eq!(git(&["config", "core.hooksPath"]).trim(), HOOKS);
        }
        git(&["config", "core.hooksPath", "elsewhere"]);
        assert!(run(&root).is_err());
        std::fs::remove_dir_all(&root).expect("it was made above");
    }
}
