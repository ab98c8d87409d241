//! What an address is, and what is none.

use sommelier_address::{Address, AddressError};

/// A host and a port, the scheme's own where none is named, and whether it is on this machine.
#[test]
fn an_address_names_a_place() {
    let told = |text: &str| {
        Address::read(text).map(|address| {
            (address.host().to_owned(), address.port(), address.is_secure(), address.is_near())
        })
    };
    for (text, host, port, is_secure, is_near) in [
        ("https://api.example.org", "api.example.org", 443, true, false),
        ("http://models.example.org/v1", "models.example.org", 80, false, false),
        ("HTTP://LocalHost:4318", "LocalHost", 4318, false, true),
        ("http://127.7.7.7:8080/v1", "127.7.7.7", 8080, false, true),
        ("http://[::1]:11434", "::1", 11434, false, true),
        ("http://[2001:db8::1]", "2001:db8::1", 80, false, false),
        ("https://name:word@host.example:65535/", "host.example", 65535, true, false),
        ("http://localhost.example.org", "localhost.example.org", 80, false, false),
    ] {
        assert_eq!(told(text), Ok((host.to_owned(), port, is_secure, is_near)), "{text}");
    }
    let has_user = |text: &str| Address::read(text).map(|address| address.has_user());
    assert_eq!([has_user("http://ada@host"), has_user("http://host/@")], [Ok(true), Ok(false)]);
}

/// What is wrong is said, and nothing is made of it that was not meant.
#[test]
fn what_is_no_address_is_refused() {
    for (text, error) in [
        ("", AddressError::Scheme),
        ("localhost:4317", AddressError::Scheme),
        ("ftp://host", AddressError::Scheme),
        ("httpx://host", AddressError::Scheme),
        ("http://host?key=1", AddressError::Behind),
        ("http://host/#a", AddressError::Behind),
        ("http://ho st", AddressError::Unreadable),
        ("http://", AddressError::Unreadable),
        ("http://host:0", AddressError::Port),
        ("http://host:65536", AddressError::Port),
        ("http://host:+80", AddressError::Port),
        ("http://host:", AddressError::Port),
        ("http://ada@host:x", AddressError::Port),
    ] {
        assert_eq!(Address::read(text), Err(error), "{text}");
    }
}
