import { requiredValue } from "../lib/errors.ts";
import { addError, addWarning, type LoadContext } from "./load-context.ts";
import type { LoadSource, SourceContext } from "./load-source.ts";
import { createOneRosterClient, type OneRosterAccess } from "./oneroster-client.ts";
import { readRosterService } from "./roster-api-source.ts";
import { createKnownRecords } from "./roster-state.ts";
import { sourcePath } from "./source-files.ts";
import type { SourceRequest } from "./source-messages.ts";
import { readSourceInThread } from "./source-thread.ts";

/** Reads the source of a load; a service is fetched first. Throws LoadAborted, CallerError for one that cannot be read. */
export async function readSource(
  loading: LoadContext,
  { hasFormerLists }: { hasFormerLists: boolean },
): Promise<LoadSource> {
  const { deps, definition, run, counts, progress } = loading;
  const known = createKnownRecords(deps.store, definition.id);
  const { type, path, fileName, mapping, delimiter, encoding, quote } = definition;
  const request: SourceRequest = {
    kind: "start",
    definition: { type, path, fileName, mapping, delimiter, encoding, quote },
    ...(await locateSource(loading)),
    ...{ isConfirmed: run.confirmed === true, hasFormerLists, fileStates: known.fileStates },
    ...{ now: deps.clock.now(), timeZone: deps.ownZone(), zoneFolders: deps.zoneFolders },
  };
  let reported: Promise<void> = Promise.resolve();
  const source = await readSourceInThread(request, {
    ...{ clock: deps.clock, signal: deps.signal },
    records: known.page,
    onLines(linesRead) {
      counts.linesRead = linesRead;
      reported = reported.then(() => progress("reading", linesRead, 0));
    },
    onFindings({ linesRead, linesWithErrors, errors, warnings, files }) {
      counts.linesRead = linesRead;
      counts.linesWithErrors += linesWithErrors;
      loading.errors.push(...errors);
      loading.warnings.push(...warnings);
      loading.files.push(...files);
    },
  });
  await reported;
  return source;
}

/** Where the source is: a file or folder, or the tables of a service, which are fetched here. */
async function locateSource(loading: LoadContext): Promise<Pick<SourceRequest, "source" | "changes">> {
  const { deps, definition, run, counts, progress } = loading;
  if (definition.type !== "oneroster-api") {
    const path = sourcePath(definition, { loadsDir: deps.loadsDir, files: deps.store.files });
    return { source: { path }, changes: [] };
  }
  await progress("reading", counts.linesRead, 0);
  const context: SourceContext = {
    ...{ clock: deps.clock, signal: deps.signal },
    error: (message) => addError(loading, message),
    warn: (message) => addWarning(loading, message),
    fileRead: (file) => void loading.files.push(file),
    lineRead: () => null,
  };
  const client = createOneRosterClient(rosterAccess(definition, deps.store.secrets), deps);
  const { tables, changes } = await readRosterService(client, {
    ...{ store: deps.store, definitionId: definition.id, isIncremental: definition.incremental === true },
    ...{ isConfirmed: run.confirmed === true, context, now: deps.clock.now() },
  }).finally(client.close);
  return { source: { tables }, changes };
}

/** Throws CallerError if a setting is missing. */
function rosterAccess(
  { url, tokenUrl, clientId, clientSecret }: LoadContext["definition"],
  secrets: LoadContext["deps"]["store"]["secrets"],
): OneRosterAccess {
  if (!url) throw requiredValue("url");
  if (!tokenUrl) throw requiredValue("tokenUrl");
  if (!clientId) throw requiredValue("clientId");
  if (!clientSecret) throw requiredValue("clientSecret");
  return { url, tokenUrl, clientId, clientSecret: secrets.open(clientSecret) };
}
