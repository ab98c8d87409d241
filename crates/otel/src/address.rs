//! Where a collector is, and by which way.

use sommelier_address::{Address, AddressError, check_proxy};

/// Whether the collector of this address is on this machine; what is wrong with the address, or with the way there.
pub(crate) fn check(base: &str) -> Result<bool, String> {
    let address = Address::read(base).map_err(|error| match error {
        // The path would stand behind it, where no collector reads it.
        AddressError::Behind => "it has a `?` or a `#`, behind which nothing of the address of a collector stands; a key belongs into \
             the variable OTEL_EXPORTER_OTLP_HEADERS, as in `Authorization=Bearer KEY`"
            .to_owned(),
        error => error.to_string(),
    })?;
    if !address.is_near() {
        check_proxy().map_err(|error| error.to_string())?;
    }
    Ok(address.is_near())
}

/// An address as it may be told: a name and a password before its host, and what follows a question mark, stay out, also where it is no
/// address.
pub(crate) fn shown(address: &str) -> String {
    let rest = |address: &str| address.split(['?', '#']).next().unwrap_or_default().to_owned();
    // First, since a password may have each of the others.
    let Some((before, host)) = address.rsplit_once('@') else { return rest(address) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let (scheme, before) = match before.split_once("//") {
        Some((scheme, before)) if scheme.trim_end_matches(':').chars().all(is_name) => (scheme, before),
        _ => ("", before),
    };
    let slashes = if scheme.is_empty() { "" } else { "//" };
    // Behind a question mark it may be a piece of a key as well as a host.
    let host = if before.contains(['?', '#']) { String::new() } else { format!("@{}", rest(host)) };
    format!("{scheme}{slashes}...{host}")
}
