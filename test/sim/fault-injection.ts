import type { HubSync } from "../../src/sync/hub/hub-sync.ts";
import { pruneTombstones } from "../../src/sync/hub/retention.ts";
import { LINK_RECORDS } from "../../src/sync/hub/tables.ts";
import type { SyncCommand } from "../../src/sync/protocol/frames.ts";
import { APPLIED_VERSIONS } from "../../src/sync/site/tables.ts";
import { getRecord, scanRecords } from "../../src/sync/storage/transaction-program.ts";
import type { CloudMachine } from "./cloud-machine.ts";
import { cloudWrite, storedFile } from "./cloud-writes.ts";
import type { DatabaseNode } from "./machine.ts";
import type { Network } from "./network.ts";
import type { IssuedByTest } from "./oracle.ts";
import { SCOPES } from "./row-comparison.ts";
import type { RunStatistics } from "./run-statistics.ts";
import type { RandomSource } from "./seeded-random.ts";
import type { DiskImage, SiteMachine } from "./site-machine.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** All that can be done to a simulated world. */
export interface SimulatedWorld {
  dice: RandomSource;
  time: VirtualTime;
  figures: RunStatistics;
  cloud: CloudMachine;
  sites: readonly { site: SiteMachine; network: Network; backups: DiskImage[] }[];
  lan: { isUp: boolean };
  issued: Map<string, IssuedByTest>;
  violated(error: unknown): void;
}

type WeightedEvent = readonly [weight: number, fn: () => unknown];

/** Does one thing to the world: people write and send, machines and networks fail. */
export function injectRandomEvent(world: SimulatedWorld): void {
  const { dice, time, figures, cloud, lan } = world;
  const one = dice.pick(world.sites);
  const { site, network, backups } = one;
  const chances: readonly WeightedEvent[] = [
    [20, () => publish(world)],
    [7, () => edit(world, site)],
    [8, () => report(world, site)],
    [4, () => setPanel(world, site)],
    [12, () => command(world)],
    [
      1,
      () => {
        // They all come at once, with the welcome.
        network.cut();
        for (let turn = 0; turn < 4; turn += 1) command(world);
      },
    ],
    [3, () => cancel(world)],
    [0.7, () => order(world, site)],
    [3, () => network.cut()],
    [
      2,
      () => {
        network.isUp = dice.happens(0.6);
        if (!network.isUp) network.cut();
      },
    ],
    [
      2,
      () => {
        network.bandwidth = dice.pick([0.5, 5, 100, 1000]);
        network.latencyMs = dice.pick([1, 5, 50, 400]);
      },
    ],
    [1, () => Object.assign(lan, { isUp: !lan.isUp })],
    [2, () => Object.assign(site.machine, { crashIn: 1 + dice.below(12) })],
    [2, () => Object.assign(cloud.machine, { crashIn: 1 + dice.below(12) })],
    [0.5, () => site.machine.crash()],
    [
      0.5,
      () => {
        figures.diskErrors += 1;
        site.machine.crashIn = 1;
      },
    ],
    [
      1,
      () => {
        backups.push(site.image(time.now()));
        if (backups.length > 3) backups.shift()?.disk.close();
      },
    ],
    [1, () => cloud.backUp()],
    [
      0.3,
      () => {
        const backup = backups.length > 0 ? dice.pick(backups) : null;
        if (!backup) return;
        figures.siteRestores += 1;
        site.restore(backup, dice.happens(0.5));
      },
    ],
    [0.3, () => restoreSite(world, one)],
    [0.15, () => restoreDuringSend(world, one)],
    [1, () => network.garble()],
    [1, () => network.lose()],
    [0.4, () => cloud.restore()],
    [
      1,
      () => {
        figures.floorJumps += 1;
        const kept = dice.below(20_000);
        void cloud.machine.life?.store.transact(() => pruneTombstones(time.now(), kept)).catch(world.violated);
      },
    ],
    [0.5, () => void cloud.hub?.setScopes(site.watched.name, dice.pick(SCOPES)).catch(world.violated)],
    [0.2, () => site.rot()],
    [0.5, () => cloud.hub?.compareDigests()],
    ...(cloud.node ? databaseEvents(world, cloud.node) : []),
  ];
  let left = dice.next() * chances.reduce((sum, [weight]) => sum + weight, 0);
  const chosen = chances.find(([weight]) => {
    left -= weight;
    return left < 0;
  });
  chosen?.[1]();
}

/** What happens to a node and its database. */
function databaseEvents(world: SimulatedWorld, node: DatabaseNode): readonly WeightedEvent[] {
  const { dice, time, figures, cloud, violated } = world;
  const write = (hub: HubSync): void => publishAt(world, hub);
  /** It is not there for a while, sometimes for longer than the product asks what became of a commit. */
  const away = (): void => {
    figures.broken += 1;
    node.breakAll(false);
    time.in(dice.happens(0.8) ? 0 : dice.next() * 45_000, () => node.breakAll(true));
  };
  return [
    [2, () => time.in(dice.next() * 20, () => cloud.machine.crash())],
    [2, () => node.cutAt("before-commit", away)],
    [2, () => node.cutAt("after-commit", away)],
    [1, () => node.cutAt("in-doubt", away)],
    [1, away],
    // Often it is back when another node has just taken its place.
    [1, () => cloud.cutOff(dice.happens(0.5) ? 6_000 + dice.next() * 5_000 : dice.next() * 30_000, write)],
    [0.5, () => cloud.usurp(write)],
    [0.5, () => void node.forgetGone(dice.below(20)).catch(violated)],
  ];
}

function publish(world: SimulatedWorld): void {
  publishAt(world, world.cloud.hub);
}

function publishAt({ dice, time, figures, cloud, violated }: SimulatedWorld, hub: HubSync | null): void {
  figures.publications += 1;
  const rows = Array.from({ length: dice.happens(0.2) ? 4 : 1 }, () => cloudWrite(cloud, dice, time.now())).flat();
  void hub?.publish(rows).catch(violated);
}

function report({ dice, figures }: Pick<SimulatedWorld, "dice" | "figures">, site: SiteMachine): void {
  figures.localSends += 1;
  const id = dice.id();
  const picture = dice.happens(0.2) ? storedFile(site.blobs, dice) : null;
  site.write("reports", id, () => ({ id, note: "seen", picture }));
}

/**
 * An image of the disk is put back after some of what was written arrived in the cloud; before it is connected again, as
 * much is written anew: the numbers look right, and the records are others.
 */
function restoreSite(world: SimulatedWorld, { site, network }: SimulatedWorld["sites"][number]): void {
  const { dice, time, figures } = world;
  // What is written next is not in it.
  const image = site.image(time.now() - 0.001);
  const reports = (count: number): void => {
    for (let turn = 0; turn < count; turn += 1) report(world, site);
  };
  reports(1 + dice.below(3));
  time.in(3_000, () => {
    figures.siteRestores += 1;
    network.isUp = false;
    network.cut();
    site.restore(image, false);
    image.disk.close();
    // It has started by then.
    time.in(6_000, () => reports(2 + dice.below(8)));
    time.in(8_000, () => {
      network.isUp = true;
    });
  });
}

/** It takes the cloud so long at most to have a page of what waited, in looks of 100 ms. */
const LOOKS = 100;

/**
 * State that waits to be sent is overtaken, and the connection ends after a page that has neither the older nor the newer
 * of the two; then an image of the disk from before is put back: the cloud has all that it waits with, by number and name.
 */
function restoreDuringSend(
  { dice, time, figures, cloud }: SimulatedWorld,
  { site, network }: SimulatedWorld["sites"][number],
): void {
  const id = `${site.watched.name}-overtaken`;
  const write = (): void => site.write("panels", id, () => ({ id, note: `p${dice.below(1e6)}` }));
  const arrived = (): number =>
    cloud.hub ? (cloud.machine.disk.peek(() => getRecord(LINK_RECORDS, site.watched.name))?.bulkHw ?? 0) : 0;
  network.isUp = false;
  network.cut();
  write();
  for (let turn = 0; turn < 4; turn += 1) report({ dice, figures }, site);
  time.in(1_000, () => {
    const image = site.image(time.now() - 0.001);
    // After the older state, of which the image has four records more.
    const until = (image.link?.bulkSeq ?? 0) - 4;
    let looks = 0;
    write();
    // One page after the other.
    Object.assign(network, { isUp: true, bandwidth: 0.5 });
    look();

    function look(): void {
      looks += 1;
      if (arrived() < until && looks < LOOKS) return void time.in(100, look);
      figures.siteRestores += 1;
      network.isUp = false;
      network.cut();
      site.restore(image, false);
      image.disk.close();
      time.in(2_000, () => Object.assign(network, { isUp: true, bandwidth: 1000 }));
    }
  });
}

function setPanel({ dice }: SimulatedWorld, site: SiteMachine): void {
  const id = `${site.watched.name}-${dice.below(3)}`;
  site.write("panels", id, () => (dice.happens(0.2) ? null : { id, note: `p${dice.below(1e6)}` }));
}

function edit({ dice, figures }: SimulatedWorld, site: SiteMachine): void {
  const rows = site.machine.disk.peek(() => scanRecords(APPLIED_VERSIONS)).filter(({ type }) => type !== "people");
  figures.edits += 1;
  if (rows.length === 0 || dice.happens(0.15)) {
    const id = dice.id();
    const body = { id, name: `Room ${dice.below(12)}`, note: "made here" };
    site.write("rooms", id, () => body);
    return;
  }
  const row = dice.pick(rows);
  if (dice.happens(0.15)) {
    site.write(row.type, row.id, () => null);
    return;
  }
  const field = row.type === "lists" ? dice.pick(["note", "word"]) : "note";
  const [value, isFewer] = [`s${dice.below(1e6)}`, dice.happens(0.3)];
  site.write(row.type, row.id, (before) => {
    if (!before) return null;
    const members = (before.personIds ?? []) as string[];
    return { ...before, ...(isFewer && members.length > 0 ? { personIds: members.slice(1) } : {}), [field]: value };
  });
}

function command({ dice, time, figures, cloud, sites, issued, violated }: SimulatedWorld): void {
  const { hub } = cloud;
  const { life } = cloud.machine;
  if (!hub || !life) return;
  const names = sites.map(({ site }) => site.watched.name);
  const isEmergency = dice.happens(0.5);
  const isGroup = dice.happens(0.5);
  if (dice.happens(0.5)) names.reverse();
  const endpoints = isGroup ? names : names.slice(0, 1);
  const cid = dice.id();
  const lasts = isEmergency ? 2_000 + dice.next() * 60_000 : 1_000 + dice.next() * 20_000;
  const notAfter = Math.round(time.now() + lasts);
  const kind = "broadcast" as const;
  const shared = { cid, kind, class: isEmergency ? ("emergency" as const) : ("routine" as const), notAfter };
  const ranked = endpoints.map((endpoint, rank) => {
    const command: SyncCommand = { ...shared, rank, term: 0, ref: null, body: {} };
    return { endpoint, command };
  });
  figures.commands += endpoints.length;
  // Known before it is certain: it may be carried out before the cloud knows that it was issued.
  const [first] = ranked;
  if (first) issued.set(cid, { command: first.command, group: isGroup ? endpoints : [], cancelledAt: null });
  void hub.issue(ranked).catch(violated);
}

/** Orders are carried out by the appliance's rooms, or by the link itself. */
function order({ dice, time, figures, cloud, issued, violated }: SimulatedWorld, site: SiteMachine): void {
  if (!cloud.hub) return;
  const kind = dice.pick(["backup", "full-resync", "replication-queue-reset", "replication-clean-up"] as const);
  const cid = dice.id();
  const of = { cid, kind, class: "admin" as const, notAfter: time.now() + 3_600_000 };
  const command: SyncCommand = { ...of, rank: 0, term: 0, ref: null, body: {} };
  figures.orders += 1;
  issued.set(cid, { command, group: [], cancelledAt: null });
  void cloud.hub.issue([{ endpoint: site.watched.name, command }]).catch(violated);
}

function cancel({ dice, time, figures, cloud, issued, violated }: SimulatedWorld): void {
  const open = [...issued.values()].slice(-8).filter(({ cancelledAt }) => cancelledAt === null);
  if (!cloud.hub || open.length === 0) return;
  const target = dice.pick(open);
  target.cancelledAt = time.now();
  figures.cancels += 1;
  const own = {
    cid: dice.id(),
    class: "emergency" as const,
    notAfter: time.now() + 3_600_000,
    rank: 0,
    term: 0,
    body: {},
  };
  void cloud.hub.cancel(target.command.cid, own).catch(violated);
}
