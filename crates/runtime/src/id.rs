//! Ids that are derived, never drawn.

/// An id made of a text and numbers, such as `conversation/1/2/0`: the same whenever the same thing is done again.
///
/// ```
/// assert_eq!(sommelier_runtime::derived_id("conversation", &[1, 20, 0]), "conversation/1/20/0");
/// ```
pub fn derived_id(of: &str, numbers: &[u32]) -> String {
    let mut id = String::with_capacity(of.len() + 4 * numbers.len());
    id.push_str(of);
    for number in numbers {
        id.push('/');
        push(&mut id, *number);
    }
    id
}

/// Writes a number digit by digit: an id is made for every call, and the general writer costs several times that.
fn push(id: &mut String, number: u32) {
    if number >= 10 {
        push(id, number / 10);
    }
    id.extend(char::from_digit(number % 10, 10));
}
