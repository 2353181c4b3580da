/** Entry for saved pages: every run lies in the page, and nothing is asked of anybody. */

<<<<<<< HEAD
import { startPage } from "./saved-page";
=======
import { openComparison } from "./compare/saved";
import { h } from "./draw/dom";
import { openDialog, whenSettled } from "./export/print";
import { createFrame, type Frame } from "./frame/frame";
import * as lazy from "./lazy";
import { explain } from "./protocol/failure";
import { itemAt, required } from "./protocol/required";
import { SnapshotSource } from "./protocol/snapshot";
import { acceptSelection } from "./state/binding";
import { withSaved } from "./state/saved";
import { createState, fit } from "./state/state";
import { provide } from "./views/lazy-views";
>>>>>>> a2b9383 (Show the difference of two runs in every view, compare in a live widget, and patch by a click)

startPage(null);
