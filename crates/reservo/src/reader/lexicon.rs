//! Words that the reader knows, folded: lower case, umlauts spelt out, no apostrophes.

use crate::words::is_one_of;

/// The whole number a word says, from digits or in words up to twelve.
pub(super) fn number(word: &str) -> Option<Number> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(word.parse().map_or(Number::TooLong, Number::Whole));
    }
    NUMBER_WORDS.iter().find(|(name, _)| *name == word).map(|(_, value)| Number::Whole(*value))
}

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Whole(i64),
    TooLong,
}

const NUMBER_WORDS: &[(&str, i64)] = &[
    ("zero", 0),
    ("null", 0),
    ("one", 1),
    ("eins", 1),
    ("two", 2),
    ("zwei", 2),
    ("three", 3),
    ("drei", 3),
    ("four", 4),
    ("vier", 4),
    ("five", 5),
    ("fuenf", 5),
    ("six", 6),
    ("sechs", 6),
    ("seven", 7),
    ("sieben", 7),
    ("eight", 8),
    ("acht", 8),
    ("nine", 9),
    ("neun", 9),
    ("ten", 10),
    ("zehn", 10),
    ("eleven", 11),
    ("elf", 11),
    ("twelve", 12),
    ("zwoelf", 12),
];

/// Whether the word is a unit of length in hours.
pub(super) fn is_hour_unit(word: &str) -> bool {
    is_one_of(word, "h hr hrs hour hours std stunde stunden houres")
}

/// The month that a word names, 1 to 12.
pub(super) fn month(word: &str) -> Option<u8> {
    const MONTHS: [&[&str]; 12] = [
        &["january", "januar", "jan"],
        &["february", "februar", "feb"],
        &["march", "maerz", "mar"],
        &["april", "apr"],
        &["may", "mai"],
        &["june", "juni", "jun"],
        &["july", "juli", "jul"],
        &["august", "aug"],
        &["september", "sept", "sep"],
        &["october", "oktober", "oct", "okt"],
        &["november", "nov"],
        &["december", "dezember", "dec", "dez"],
    ];
    (1..).zip(MONTHS).find(|(_, names)| names.contains(&word)).map(|(month, _)| month)
}

/// The day of the week that a word names, 0 for Monday; a short form only where `short` allows it.
pub(super) fn weekday(word: &str, short: bool) -> Option<usize> {
    const DAYS: [(&[&str], &[&str]); 7] = [
        (&["monday", "mondays", "montag", "montags"], &["mon", "mo"]),
        (&["tuesday", "tuesdays", "dienstag", "dienstags"], &["tue", "tues", "di"]),
        (&["wednesday", "wednesdays", "mittwoch", "mittwochs"], &["wed", "mi"]),
        (&["thursday", "thursdays", "donnerstag", "donnerstags"], &["thu", "thur", "thurs", "do"]),
        (&["friday", "fridays", "freitag", "freitags"], &["fri", "fr"]),
        (&["saturday", "saturdays", "samstag", "sonnabend"], &["sat", "sa"]),
        (&["sunday", "sundays", "sonntag", "sonntags"], &["sun", "so"]),
    ];
    DAYS.iter().position(|(long, brief)| long.contains(&word) || (short && brief.contains(&word)))
}

/// Whether the word stands for people that sit in a room.
pub(super) fn is_people(word: &str) -> bool {
    is_one_of(
        word,
        "\
        people persons person guests guest attendees participants pax seats ppl colleagues adults leute \
        personen gaeste teilnehmer plaetze folks members",
    )
}

/// Words so ordinary that they are never a misspelt or unknown name of a room, a plan or a person.
pub(super) fn is_common(word: &str) -> bool {
    is_one_of(word, COMMON)
        || number(word).is_some()
        || is_hour_unit(word)
        || is_people(word)
        || month(word).is_some()
        || weekday(word, false).is_some()
}

const COMMON: &str = "\
    a about above actually after afternoon again all almost alone along already also always am an and \
    another any anyone anything are around as ask at available away back be because been before best \
    better between big biggest book booked booking bookings both boss but by can cancel card cheap \
    cheaper cheapest client clients close company compare conference cost costs could customer customers \
    daily date day days deal did different do does doing done dont during each early either else evening \
    event ever every everyone exactly few find first for form free from full get give go going good \
    group guys had half has have hello help her here hey hi him his hourly house how however i id if ill \
    im in instead interview into is it its ive just kind know large larger largest last late later least \
    less let lets like list little long look looking lot lunch made make many may maybe me meet meeting \
    meetings might mine minute minutes monthly more morning most much must my myself name need needs \
    never new next nice night no non none noon normal not nothing now of off ok okay on once one only \
    onto or order other others our out over own party pay per place plan plans please plus policy \
    possible price prices pricing private project quiet quick quote rate rates really regular rent \
    request reservation reserve right room rooms sales same say see service session she should show \
    shows single slot small smaller smallest so some somebody someone something soon sorry space spot \
    standard start starting still such sure take talk team tell than thank thanks that thats the their \
    them then there theres these they thing things think this those time times to today together \
    tomorrow tonight too total training two under until up us use usual very via want wants was we week \
    weekend weeks welcome well were what whats when where whether which while who whole will wish with \
    within without wonder wondering work working workshop would year yes yesterday you your yours cents \
    cent euro euros offer till except excluding including tarif package tier fee fees terms rules what's \
    whatever anyway assuming provided unless aber abend alle als angebot auch auf aus ausser bei bin bis \
    bitte brauche brauchen buche buchen buchung chef da danke dann das dass dem den denn der des die \
    diese diesen dir doch du durch ein eine einem einen einer er es etwas falls firma frage frau fuer \
    gerne gern gibt gross grosse guten gut haben hallo hatte haette herr herrn heute hier ich ihr ihre \
    ihm ihn ihnen im ins ist ja jede jemand kann kannst kein keine klein kleine koennen koennte koennten \
    kosten kostet kunde kunden machen man mein meine meinen meiner mir mich mit moechte moechten morgen \
    muss nach naechste naechsten nein nicht noch nur ob oder ohne preis preise pro raeume raum \
    reservieren reservierung schon sehr sein sich sie sind so tag tage termin uhr um und uns unser \
    unsere unseren ueber vielen viel vom von vor wann war waere warum was wegen wenn wer werden wie \
    wieder wieviel will wir wird wo woche wuerde zu zum zur zwischen welcher welches welchen welchem welche habt hast habe gerade euch euer eure bekomme passiert besprechung besprechungsraum \
    besprechungsraeume zimmer saal";
