//! Where a service is.

use sommelier_address::Address;

use crate::SetupError;
use crate::error::clip;

/// The address of a service, to which a key may go if there is one.
///
/// # Errors
/// [`SetupError::BadUrl`], and [`SetupError::KeyInTheClear`].
pub(crate) fn check(base: &str, has_key: bool) -> Result<Address, SetupError> {
    let bad = |fault| SetupError::BadUrl { url: without_secrets(base), fault };
    let address = Address::read(base).map_err(|error| bad(error.as_str()))?;
    if address.has_user() {
        return Err(bad("a name and password may not stand in it"));
    }
    if has_key && !address.is_secure() && !address.is_near() {
        return Err(SetupError::KeyInTheClear { url: without_secrets(base) });
    }
    Ok(address)
}

/// The address without a name, a password or a query. A `#` or `?` may stand in a password, so the last `@` is looked for first.
fn without_secrets(base: &str) -> String {
    let host = base.rsplit_once('@').map_or(base, |(_, host)| host);
    clip(host.split(['?', '#']).next().unwrap_or_default())
}
