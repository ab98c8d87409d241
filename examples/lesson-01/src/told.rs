//! What is told, and cannot be read from the code.

pub(crate) const PICTURE: &str = "\
The picture
  A waiter knows his tables. A guest asks him which wine goes with the fish. He does not guess, and
  he does not ask the manager whom to send. He calls the sommelier, with one question and what she
  needs to know for it: fish, two glasses, nothing dear. From then on the table is hers. The guest
  repeats nothing, and she is not told what was said about the bread.
";

pub(crate) const BOUNDARIES: &str = "\
Where the pattern ends: when is the need found?
  pipeline     Before there is any request. The order of the steps is fixed; no step decides.
  supervisor   On the raw request, once, before any work. Somebody outside decides WHO. There are
               two kinds: a fixed rule, and a model that decides.
  fan-out      Before dispatch. The parts are known not to need each other; they are given out, and
               their results are joined.
  handoff      During the work of an agent. That agent decides, and asks nobody outside.
  blackboard   A boundary only: common state that anyone reads and writes. Nobody is addressed.
  A \"handoff\" that is decided before anybody works is one of the others under a wrong name: with one
  receiver it is a supervisor, with several a fan-out.
";

pub(crate) const TWO_PARTS: &str = "\
Two requests of two parts
  fan-out      \"Quote Focus pro 3h, and what is your cancellation policy?\"
               Both parts stand in the request, and neither answer needs the other.
";

pub(crate) const BELIEFS: &str = "\
Four beliefs that are wrong, and the lesson whose run shows it
  07           \"A handoff is a supervisor's routing, only later.\"
  03           \"The full history is the safer choice.\"
  08           \"Any request of two parts is a case for a handoff.\"
  06           \"No limits are needed, since a good model never errs.\"
";
