//! Arguments: one declaration gives the struct, its reader and its schema.

use serde::de::DeserializeOwned;
use sommelier_protocol::RawJson;

/// Arguments of a tool. [`tool_args!`](crate::tool_args) implements it.
pub trait ToolArgs: DeserializeOwned + 'static {
    /// JSON Schema of the arguments, an object.
    fn schema() -> RawJson;
}

/// A type that an argument may have, with its JSON Schema.
pub trait ArgType {
    /// Whether the argument must be there.
    const REQUIRED: bool = true;

    /// The schema's members, such as `"type":"integer"`.
    fn schema() -> String;
}

macro_rules! arg_types {
    ($($ty:ty => $schema:literal),* $(,)?) => { $(
        impl ArgType for $ty {
            fn schema() -> String {
                $schema.to_owned()
            }
        }
    )* };
}

arg_types! {
    String => r#""type":"string""#,
    bool => r#""type":"boolean""#,
    i64 => r#""type":"integer""#,
    u32 => r#""type":"integer","minimum":0"#,
    u64 => r#""type":"integer","minimum":0"#,
    f64 => r#""type":"number""#,
}

impl<T: ArgType> ArgType for Option<T> {
    const REQUIRED: bool = false;

    fn schema() -> String {
        T::schema()
    }
}

impl<T: ArgType> ArgType for Vec<T> {
    fn schema() -> String {
        format!(r#""type":"array","items":{{{}}}"#, T::schema())
    }
}

/// Declares the arguments of a tool.
///
/// The words of a field's doc comment become its description in the schema. A list after `=>` names the
/// values that are sensible: the model is told them, and the tool says in its own error what else was
/// written. Members that are not declared are refused.
///
/// One dependency suffices: who gets this crate through one above writes `use sommelier_runner::runtime::tool_args;`, and
/// needs no serde beside it.
///
/// ```
/// use sommelier_runtime::{tool_args, ToolArgs};
///
/// tool_args! {
///     /// Which room, and for how long.
///     pub struct Quote {
///         /// The room.
///         pub room: String => ["Focus", "Studio"],
///         /// Whole hours.
///         pub hours: Option<i64>,
///     }
/// }
/// assert_eq!(
///     Quote::schema().get(),
///     r#"{"type":"object","properties":{"room":{"type":"string","description":"The room.","enum":["Focus","Studio"]},"hours":{"type":"integer","description":"Whole hours."}},"required":["room"],"additionalProperties":false}"#,
/// );
/// assert!(serde_json::from_str::<Quote>(r#"{"room":"Focus","admin":true}"#).is_err());
/// ```
#[macro_export]
macro_rules! tool_args {
    (
        $(#[doc = $doc:literal])*
        $vis:vis struct $name:ident {
            $(
                $(#[doc = $field_doc:literal])*
                $field_vis:vis $field:ident: $ty:ty $(=> [$($value:literal),* $(,)?])?,
            )*
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $(
                $(#[doc = $field_doc])*
                $field_vis $field: $ty,
            )*
        }

        // serde's derive takes the path of its crate as a text, in which `$crate` means nothing. So it is derived for a
        // struct of the same name and fields, where a name of our own leads to serde, and the fields are moved over.
        const _: () = {
            use $crate::tool_args_support::serde as tool_args_serde;
            type Declared = $name;

            const _: () = {
                #[derive(tool_args_serde::Deserialize)]
                #[serde(crate = "tool_args_serde", deny_unknown_fields)]
                struct $name {
                    $($field: $ty,)*
                }

                impl<'de> tool_args_serde::Deserialize<'de> for Declared {
                    fn deserialize<D: tool_args_serde::Deserializer<'de>>(
                        deserializer: D,
                    ) -> ::core::result::Result<Self, D::Error> {
                        let $name { $($field,)* } = tool_args_serde::Deserialize::deserialize(deserializer)?;
                        Ok(Self { $($field,)* })
                    }
                }
            };
        };

        impl $crate::ToolArgs for $name {
            fn schema() -> $crate::tool_args_support::RawJson {
                let fields: &[$crate::tool_args_support::Field] = &[$(
                    $crate::tool_args_support::Field {
                        name: stringify!($field),
                        schema: <$ty as $crate::tool::ArgType>::schema(),
                        is_required: <$ty as $crate::tool::ArgType>::REQUIRED,
                        description: concat!($($field_doc),*),
                        values: &[$($($value),*)?],
                    },
                )*];
                $crate::tool_args_support::object_schema(fields)
            }
        }
    };
}

/// What the macro [`tool_args!`](crate::tool_args) is made of; not for use by hand.
#[doc(hidden)]
pub mod support {
    pub use serde;
    pub use sommelier_protocol::RawJson;

    #[derive(Debug)]
    pub struct Field {
        pub name: &'static str,
        pub schema: String,
        pub is_required: bool,
        pub description: &'static str,
        pub values: &'static [&'static str],
    }

    impl Field {
        /// The name on the wire: `r#type` is written `type`.
        fn written(&self) -> &'static str {
            self.name.strip_prefix("r#").unwrap_or(self.name)
        }
    }

    pub fn object_schema(fields: &[Field]) -> RawJson {
        let properties: Vec<String> = fields.iter().map(property).collect();
        let required: Vec<&str> =
            fields.iter().filter(|field| field.is_required).map(Field::written).collect();
        let text = format!(
            r#"{{"type":"object","properties":{{{}}},"required":{},"additionalProperties":false}}"#,
            properties.join(","),
            RawJson::of(&required).map(|json| json.to_string()).unwrap_or_default(),
        );
        RawJson::parse(&text).unwrap_or_else(|_| RawJson::empty_object())
    }

    fn property(field: &Field) -> String {
        let values = match RawJson::of(field.values) {
            Ok(values) if !field.values.is_empty() => format!(r#","enum":{values}"#),
            _ => String::new(),
        };
        // The values of a list are those of its items.
        let item = field.schema.trim_end_matches('}');
        let (schema, values) = match &field.schema[item.len()..] {
            "" => (field.schema.clone(), values),
            lists => (format!("{item}{values}{lists}"), String::new()),
        };
        let mut text = format!("{}:{{{schema}", RawJson::string(field.written()));
        if !field.description.is_empty() {
            text.push_str(&format!(r#","description":{}"#, RawJson::string(field.description.trim())));
        }
        text.push_str(&values);
        text.push('}');
        text
    }
}
