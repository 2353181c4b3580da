/** Entry for saved pages: every run lies in the page, and nothing is asked of anybody. */

import { startPage } from "./saved-page";

startPage(null);
