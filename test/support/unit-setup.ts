/** Before every file of `npm run test:unit`: what unit tests leave behind is removed. Loads neither product nor browser. */
import { afterAll } from "vitest";
import { stopListeners } from "./ffmpeg-listener.ts";
import { removeTempDirs } from "./temp-dir.ts";

afterAll(stopListeners);

afterAll(removeTempDirs);
