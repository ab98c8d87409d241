//! One text for each JSON value, however it was written.

use sommelier_protocol::RawJson;

use super::Members;

/// How deep lists and objects may be nested; what is deeper stays as it was written.
const DEEPEST: usize = 32;

/// Writes `json` so that equal values have one text: no white space, members sorted by name, strings without needless
/// escapes, and numbers by their exact value, however large.
pub(super) fn write(json: &RawJson, out: &mut String) {
    write_at(json, DEEPEST, out);
}

fn write_at(json: &RawJson, deeper: usize, out: &mut String) {
    let text = json.get();
    match text.as_bytes().first() {
        Some(b'"') => match json.read::<String>() {
            Ok(words) => out.push_str(RawJson::string(&words).get()),
            Err(_) => out.push_str(text),
        },
        Some(b'-' | b'0'..=b'9') => out.push_str(&number(text).unwrap_or_else(|| text.to_owned())),
        Some(b'{') if deeper > 0 => {
            let mut members = json.read::<Members>().unwrap_or_default().0;
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            write_members(members.iter().map(|(name, value)| (&**name, Some(value))), deeper - 1, out);
        }
        Some(b'[') if deeper > 0 => {
            out.push('[');
            for (place, item) in json.read::<Vec<RawJson>>().unwrap_or_default().iter().enumerate() {
                out.push_str(if place == 0 { "" } else { "," });
                write_at(item, deeper - 1, out);
            }
            out.push(']');
        }
        _ => out.push_str(text),
    }
}

/// Writes an object of these members in this order; one without a value is null.
pub(super) fn object<'a>(members: impl Iterator<Item = (&'a str, Option<&'a RawJson>)>) -> String {
    let mut out = String::new();
    write_members(members, DEEPEST, &mut out);
    out
}

fn write_members<'a>(
    members: impl Iterator<Item = (&'a str, Option<&'a RawJson>)>,
    deeper: usize,
    out: &mut String,
) {
    out.push('{');
    for (place, (name, value)) in members.enumerate() {
        out.push_str(if place == 0 { "" } else { "," });
        out.push_str(RawJson::string(name).get());
        out.push(':');
        match value {
            Some(value) => write_at(value, deeper, out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
}

/// The number by its value, in digits where that is no longer than a handful of zeros, else with an exponent. `None` when
/// the exponent is beyond counting.
fn number(text: &str) -> Option<String> {
    const ZEROS: i64 = 20;
    let (sign, text) = text.strip_prefix('-').map_or(("", text), |text| ("-", text));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = [whole, fraction].concat();
    let digits = all.trim_end_matches('0');
    let exponent = exponent.parse::<i64>().ok()?;
    let exponent = exponent.checked_add(i64::try_from(whole.len()).ok()?)?;
    let exponent = exponent.checked_sub(i64::try_from(digits.len()).ok()?)?;
    let digits = digits.trim_start_matches('0');
    Some(match exponent {
        _ if digits.is_empty() => "0".to_owned(),
        0..=ZEROS => format!("{sign}{digits}{}", "0".repeat(usize::try_from(exponent).ok()?)),
        _ => format!("{sign}{digits}e{exponent}"),
    })
}
