import { type ApiClient, listAll } from "../../../src/api-client/api-client.ts";
import type { AnyResource } from "../../../src/schema/resource.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../../src/wiring/load-declarations.ts";
import type { FieldMember, FieldMembers } from "./members.ts";
import type { WriterResult } from "./writers.ts";

type Row = Readonly<Record<string, unknown>> & { id: string };
/** Rows as text by their ids. */
type Shown = ReadonlyMap<string, string>;

/** What all sides have, compared row by row. */
export interface ConsistencyReport {
  /** Rows that were compared at the cloud. */
  rows(): number;
  /** Where sides differ, in words; none when all agree. Rejects while one of them can't be asked. */
  differences(): Promise<string[]>;
}

/** What a side says of itself, or of now, is not the row. */
const NOT_THE_ROW: ReadonlySet<string> = new Set(["permissions", "syncId"]);
/** Alarms have the same ids on every appliance, each with its own state. */
const EACH_HAS_ITS_OWN: ReadonlySet<string> = new Set(["alarms"]);

/** Compares all that the cloud's feed has at the API's top level, and the devices of each appliance with what the cloud has of them. */
export async function compareSides({ hub, sites }: FieldMembers): Promise<ConsistencyReport> {
  const declared = await loadDeclarations([BUILT_IN_DECLARATIONS]);
  const shared = declared.filter(
    ({ name, replicate }) => (replicate === "A" || replicate === "B") && !EACH_HAS_ITS_OWN.has(name),
  );
  const lists = shared.flatMap((resource) => {
    const path = resource.paths.map(({ at }) => at).find((at) => !at.includes("{") && !at.includes(":"));
    return path === undefined ? [] : [{ resource, path: `/${path}` }];
  });
  const devices = declared.find(({ name }) => name === "devices") as AnyResource;
  let rows = 0;

  async function ofLists(): Promise<string[]> {
    const found: string[] = [];
    for (const { resource, path } of lists) {
      const at = await shownAt(hub.api, path, resource);
      rows += at.size;
      for (const site of sites) found.push(...compared(path, at, site, await shownAt(site.api, path, resource)));
    }
    return found;
  }

  async function ofDevices(): Promise<string[]> {
    const found: string[] = [];
    for (const site of sites) {
      const path = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/devices`;
      const at = await shownAt(hub.api, path, devices);
      rows += at.size;
      found.push(...compared(`devices of ${site.name}`, at, site, await shownAt(site.api, path, devices)));
    }
    return found;
  }

  return {
    rows: () => rows,
    async differences() {
      rows = 0;
      return [...(await ofLists()), ...(await ofDevices())];
    },
  };
}

async function shownAt(api: ApiClient, path: string, { fields }: AnyResource): Promise<Shown> {
  const rows = await listAll<Row>(api, path);
  const isTold = (name: string): boolean => !NOT_THE_ROW.has(name) && fields[name]?.kind !== "computed";
  return new Map(
    rows.map((row) => {
      const own = Object.entries(row).filter(([name]) => isTold(name));
      return [row.id, JSON.stringify(Object.fromEntries(own.sort(([a], [b]) => (a < b ? -1 : 1))))];
    }),
  );
}

function compared(what: string, hub: Shown, site: FieldMember, at: Shown): string[] {
  const ids = new Set([...hub.keys(), ...at.keys()]);
  return [...ids]
    .filter((id) => hub.get(id) !== at.get(id))
    .map(
      (id) => `${what} ${id}: the cloud has ${hub.get(id) ?? "nothing"}, ${site.name} has ${at.get(id) ?? "nothing"}`,
    );
}

/** Answered writes that the cloud does not have as they were answered, in words. */
export async function lostWrites(hub: FieldMember, writings: readonly WriterResult[]): Promise<string[]> {
  const lost: string[] = [];
  const names = new Map<string, Map<string, string>>();
  for (const { at, rows } of writings) {
    for (const { path, id, name, maybe } of rows) {
      const known =
        names.get(path) ??
        new Map((await listAll<Row & { name: string }>(hub.api, path)).map((row) => [row.id, row.name]));
      names.set(path, known);
      const found = known.get(id) ?? null;
      if (found !== name && !maybe.includes(found)) lost.push(`${path}/${id} of ${at} is ${found}, not ${name}`);
    }
  }
  return lost;
}

interface Line {
  deviceIdentifier: string;
  level: string;
  reason: string | null;
}

/** Messages that were sent at an appliance and that the cloud does not know once, as the appliance does; in words. */
export async function unreportedMessages(
  { hub, sites }: FieldMembers,
  writings: readonly WriterResult[],
): Promise<string[]> {
  const untold: string[] = [];
  const known = (await listAll<Row>(hub.api, "/notifications")).map(({ id }) => id);
  for (const { at, sent } of writings) {
    const site = sites.find(({ name }) => name === at);
    for (const id of sent) {
      const times = known.filter((each) => each === id).length;
      if (times !== 1) untold.push(`message ${id} of ${at} is ${times} times in the cloud`);
      else if (site) {
        const [here, there] = await Promise.all([site, hub].map(({ api }) => linesOf(api, id)));
        if (here !== there) untold.push(`message ${id} of ${at}: it has ${here}, the cloud ${there}`);
      }
    }
  }
  return untold;
}

async function linesOf(api: ApiClient, id: string): Promise<string> {
  const lines = await listAll<Line>(api, `/notifications/${id}/devices`);
  return JSON.stringify(lines.map(({ deviceIdentifier, level, reason }) => [deviceIdentifier, level, reason]).sort());
}

interface Activity {
  id: string;
  type: string;
  value: { commandId?: string } | null;
}

/**
 * Ids that are twice in a log, and commands that ended twice in one; in words. After a restore only the ids are told: what was
 * put back does not know how it carried out a command, and says so beside what it said before.
 */
export async function reportedTwice({ hub, sites }: FieldMembers, isRestored = false): Promise<string[]> {
  const twice: string[] = [];
  for (const site of sites) {
    const path = `/extensions/${site.first.extensionId}/endpoints/${site.first.endpointId}/activities`;
    for (const member of [hub, site]) {
      const all = await listAll<Activity>(member.api, path);
      const ends = all.filter(({ type }) => type === "broadcast-complete" || type === "broadcast-failed");
      const names = [
        ...all.map(({ id }) => id),
        ...(isRestored ? [] : ends).map(({ value, id }) => `the end of ${value?.commandId ?? id}`),
      ];
      const seen = new Set<string>();
      for (const name of names) {
        if (seen.has(name)) twice.push(`${name} is twice in the log of ${site.name} at ${member.name}`);
        seen.add(name);
      }
    }
  }
  return twice;
}
