/** Entry for saved pages, after the first picture: the lazy views, and parts of others. */

import * as lazy from "./lazy";
import "./saved-page";
import { lazyCode } from "./views/contract";

lazyCode.value = lazy;
