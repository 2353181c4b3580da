/** Entry for pages with an engine: the saved runs at once, and any text that is typed as soon as the engine is there. */

import { required } from "../../protocol/required";
import { startPage } from "../../saved-page";
import { attachEngine, type Facts } from "./attach";

const facts: Facts = JSON.parse(
  required(document.getElementById("aw-engine")?.textContent, "The engine's facts"),
);

startPage(attachEngine(facts));
