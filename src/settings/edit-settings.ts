import { chownSync, readFileSync, statSync } from "node:fs";
import { isSeq, parseDocument } from "yaml";
import { replaceFile } from "../lib/durable-file.ts";
import { UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { parseSettings } from "./load-settings.ts";

/**
 * Adds a value to a list of the settings file and keeps its comments, its owner and its mode. Throws like `loadSettings`
 * for an invalid file, before or after the change; nothing was changed then.
 */
export function addToSettingsList(path: string, setting: readonly string[], value: string): void {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new UpstreamError(
      "upstream",
      sentence("error.the-settings-file-path-can-t-be-read", { path }),
      { path },
      error,
    );
  }
  parseSettings(text);
  const document = parseDocument(text);
  if (isSeq(document.getIn(setting))) document.addIn(setting, value);
  else document.setIn(setting, document.createNode([value]));
  const changed = document.toString({ lineWidth: 0 });
  parseSettings(changed);
  const { mode, uid, gid } = statSync(path);
  replaceFile(path, changed, { mode: mode & 0o777, prepare: (temporary) => chownSync(temporary, uid, gid) });
}
