/**
 * `npm run faults`: the forty hostile inputs and the twenty faults, one after the other in about twenty minutes, and a table of
 * what was promised and measured. What this machine cannot do (no root, a program missing) is named as skipped, and a piece that
 * hangs is ended after half an hour.
 * `npm run faults -- inputs [NUMBER]`: brings the forty hostile inputs, or the one of this number: none is answered 5xx, what
 * must be refused is, the daemon neither ends nor stands still.
 * `npm run faults -- disk [NUMBER] [--seed S]`: breaks the disk under the store, by a library that stands between it and the kernel: NUMBER
 * (1000) power cuts lose nothing that was answered, and lose rows where the disk is not asked to keep them (which shows that the cuts bite);
 * what waits for no disk is missing from its end alone, and a start from what ten of them left makes the messages again;
 * after a failed sync nothing more is answered 200 and the daemon ends. Needs a C compiler.
 * `npm run faults -- files`: lets a daemon have 64 open files only: it goes on, and answers again when clients have left.
 * `npm run faults -- kills [NUMBER] [--seed S]`: kills the daemon NUMBER times (100) under load and looks for answered
 * creates that were lost.
 * `npm run faults -- fuzz [NUMBER] [--seed S]`: sends NUMBER requests (100000) made from what the API serves, and the
 * hostile ones; nothing may be answered 5xx, the daemon may neither end nor stand still nor grow.
 * `npm run faults -- bulk [NUMBER]`: uploads NUMBER speakers (100000): a test leaves nothing, neither does one wrong line
 * nor a kill at half, a commit makes them all, and no turn of the daemon's loop takes more than 20 ms of the processor.
 * `npm run faults -- flaps [NUMBER] [--seed S]`: lets faults flap NUMBER times (10000) in virtual time, with 50 crashes of
 * the alarms; events alternate, each action is taken once.
 * `npm run faults -- failover [NUMBER] [--seed S] [--bug NAME|all]`: kills the appliance that acts around the minute of a
 * bell NUMBER times (1000) in virtual time; each bell is rung, within 5 s, and twice only for a reason. With planted bugs
 * the exit code is 0 when each was caught.
 * `npm run faults -- clock [NUMBER]`: sets the daemon's clock forward and back, stops it and ends it across rings, in all
 * stories or the one with this number (all take five minutes; needs Debian's faketime); each ring is heard once at its
 * time, or late, or written down as missed.
 * `npm run faults -- time-zones`: compares every time zone that schedules may name with Python's zoneinfo on the same database
 * (the machine's), from 1972 to 2060, in about five minutes, and lists the names that stand for another zone here, since the
 * database lacks them or means something else.
 * `npm run faults -- calendars [FOLDER] [--fuzz N] [--seed S]`: brings the written inputs, and all .ics, .xml (CAP), .csv and .zip
 * (rosters) files below FOLDER, to a daemon by its API, with `--fuzz` also N files made from them by small damage: none hangs
 * or is answered 5xx, no turn of the daemon's loop takes more than 20 ms of the processor. Prints what was read, skipped and
 * refused, and why.
 * `npm run faults -- rosters [NUMBER]`: loads a roster of NUMBER people (100000) with two classes each, twice, and measures the
 * daemon's loop by processor time: no turn takes more than 20 ms.
 * `npm run faults -- bells [NUMBER]`: changes and takes back a day of NUMBER bell schedules (3500) at once while a bell rings
 * every few seconds: no turn of the daemon's loop takes more than 20 ms of the processor, each bell is heard once.
 * `npm run faults -- phones [NUMBER]`: reads NUMBER phones (20000) of a call manager, changes 500 of them, and lets its
 * administration interface fail in every way.
 * `npm run faults -- systemd`: runs the shipped service under a systemd of its own (as root), sends a broadcast through
 * it, lets it hang and kills it: it works again within 10 s, and that is written down. Takes the timer's backup, and
 * upgrades: a version that is well stays, one that dies makes way. The secret key is a credential all along.
 * `npm run faults -- disk-full`: fills the disk under a running daemon (as root): writes are refused with 507, reads go
 * on, the alarm is active before, and within 5 s of the space's return all works again.
 * `npm run faults -- backup [NUMBER] [--seed S]`: takes a backup of NUMBER rows (100000) under four writers, kills the daemon
 * 20 times in the middle of one, restores one and damages one: no turn takes more than 20 ms of the processor, and in most
 * backups none keeps the loop for longer, work and disk together; the last good one stays, nothing is left behind, a
 * flipped bit is named.
 * `npm run faults -- cloud [MINUTES] [--seed S]`: a cloud and two appliances in network namespaces of their own under four
 * writers for so long (5), while lines are cut, muted and slowed, and daemons killed, stopped and their clocks set; messages
 * that are sent in the cloud are heard by ffmpeg as their class demands. Then all sides agree within 30 s, nothing that was
 * answered is lost, nothing is told twice. Root, or user namespaces; clocks need Debian's faketime.
 * `npm run faults -- cover [NUMBER] [--seed S]`: in the same field, kills the appliance that acts around a bell NUMBER times
 * (20), every fifth time in a partition: ffmpeg hears each bell, within 5 s, and twice only for a reason.
 * `npm run faults -- catch-up [ROUNDS] [ROWS]`: in the same field, an appliance is away for three days by the clock, in which
 * each of ROWS rows (10000) changes ten times, then ROUNDS times (5) for as long as each changes once: each row comes once,
 * emergencies meanwhile are heard within 300 ms (p99; on a machine with other work: twice what they take on a quiet link), one that is
 * out of date is told as expired and never heard. Needs Debian's faketime.
 * `npm run faults -- answers [NUMBER] [--seed S]`: NUMBER recipients (10000) of a message answer within 5 s, some of them
 * twice, and the daemon is killed after the last answer and around the moment at which an escalation is due: counters and
 * the replies to the first places are exact, the escalation is sent once.
 * `npm run faults -- emergency [ROUNDS]`: ROUNDS (10) emergencies to 1000 devices while 50 routine messages sound at all of
 * them, and as many while these are still being sent: the first packet is at 99 % of the devices within 1 s of the POST.
 * `npm run faults -- calls [NUMBER]`: NUMBER (500) SIP devices are called, 200 a second, hear two seconds of sound and are hung
 * up; needs Debian's sip-tester.
 * `npm run faults -- hub-nodes [ROUNDS]`: two nodes of a cloud on one PostgreSQL and two appliances, in network namespaces of
 * their own and all of them written to, while the node that acts is killed, the database restarted, and its replica promoted
 * in its place in turn, ROUNDS times (6): both appliances have what is written next within 10 s, nothing that was answered is
 * lost, nothing stands twice. As root, with Debian's postgresql.
 * `npm run faults -- flood [EMERGENCIES] [FLOOD,FLOOD...] [--bug admission-off|lane-off]`: sends EMERGENCIES (20) during each
 * flood: strangers who search, read, hold connections or guess passwords, and a user who may read and sends each of the 30
 * most expensive requests, over 200 connections. Phones get each emergency within 1 s (p99), the watchdog is fed at least
 * every 2 s, no request of a session is refused. A flood is one of search, same-user, openapi, console, connections,
 * connections-of-this-address, phone-authentication, set-up, log-in, expensive. A planted bug must exceed a limit.
 * `npm run faults -- network [SCENE] [--bug no-watch]`: changes the network under a daemon in network namespaces of its own,
 * in all scenes or the first and the one with this number: an address that comes late or changes, an interface down and up, a
 * cable, two interfaces, a default route that moves, no route for multicast, and the marks of packets (DSCP). Zones and a SIP speaker hear the sound again
 * within 2 s of the network, health shows each fault and its end, and nothing is `sent` while nothing can leave. Prints a
 * table of the figures. With the planted bug, a daemon that does not notice changes, it must fail. Root, or user namespaces.
 * `npm run faults -- heard [ROOMS] [SEED] [--write] [--bug level-rule]`: listens by the agent's microphone in ROOMS synthetic rooms
 * (2000; reverberation, noise, talk, doors, other programmes, drifting clocks), half of them with a dead speaker: none of
 * those is heard, and at least 99 % of the others where the speaker is as loud as the noise. With the planted bug the
 * 6 dB rule of earlier agents decides, which must fail. `--write` writes the figures into docs/benchmarks.md.
 * The last line has the figures; exit code 1 when a promise was broken.
 */

import { loadavg } from "node:os";
import { writtenInputs } from "../fixtures/calendar-inputs.ts";
import { writeBenchmarkTable } from "../support/benchmark-tables.ts";
import { readArguments } from "../support/harness-arguments.ts";
import { timeZoneAliases } from "../support/time-zone-oracle.ts";
import { flapAlarms } from "./alarm-flaps.ts";
import { backupUnderLoad } from "./backup.ts";
import { changeManySchedules } from "./bulk-schedule-changes.ts";
import { interruptBulkUpload } from "./bulk-upload.ts";
import { corpusTable, mutatedFiles, readCorpus, runCorpus } from "./calendars.ts";
import { CLOCK_STORIES, libfaketime, playClockStories } from "./clock.ts";
import { injectDiskFailures } from "./disk-failures.ts";
import { fillDisk } from "./disk-full.ts";
import { measureEmergencies } from "./emergency.ts";
import { killAroundBells } from "./failover.ts";
import { detectPlantedBugs } from "./failover-bugs.ts";
import { measureSoundDuringCatchUp } from "./field/catch-up.ts";
import { injectCloudFaults } from "./field/cloud.ts";
import { killActiveAppliance } from "./field/failover.ts";
import { reexecInNamespace } from "./field/network-namespaces.ts";
import { brokenLimits, floodDaemon } from "./flood/flood.ts";
import { fuzz } from "./fuzz.ts";
import { heardReport, hearRooms } from "./heard.ts";
import { sendHostileInputs } from "./hostile-inputs.ts";
import { failNodes } from "./hub-nodes.ts";
import { killUnderLoad } from "./kills.ts";
import { MAX_TURN_MS } from "./loop-monitor.ts";
import { changeNetwork, NETWORK_SCENES, networkTable } from "./network.ts";
import { exhaustOpenFiles } from "./open-files.ts";
import { maxResponseRate, runResponseStorm } from "./response-storm.ts";
import { loadRoster } from "./roster-load.ts";
import { runAll } from "./run-all.ts";
import { callMany } from "./sip-calls.ts";
import { underSystemd } from "./systemd.ts";
import { compareAllZones } from "./time-zones.ts";

/** What no hostile input may keep the daemon busy for. */
const LONGEST_TURN_MS = 250;
/** How a daemon ends whose disk has failed. */
const DISK_FAULT = 74;

const say = (progress: string): void => void process.stderr.write(`${progress}\n`);
const { values, positionals } = readArguments("faults", {
  seed: { type: "string", default: "1" },
  bug: { type: "string" },
  fuzz: { type: "string" },
  write: { type: "boolean", default: false },
});
const [what, number, rows] = positionals;
const seed = Number(values.seed);
const given = what === "calendars" ? [values.fuzz] : what === "flood" ? [number] : [number, rows];
if (!/^\d{1,9}$/.test(values.seed) || given.some((each) => each !== undefined && !/^\d{1,7}$/.test(each))) usage();

if (what === undefined) {
  process.exitCode = (await runAll(say)) ? 0 : 1;
} else if (what === "inputs") {
  const { verdicts, ...figures } = await sendHostileInputs(number === undefined ? null : Number(number), say);
  const broken = verdicts.filter((verdict) => verdict.broken.length > 0);
  process.stdout.write(
    `${JSON.stringify({ inputs: verdicts.length, ...figures, broken: broken.map(({ number }) => number) })}\n`,
  );
  process.exitCode =
    broken.length === 0 && verdicts.length > 0 && figures.alive && figures.turnMaxMs <= LONGEST_TURN_MS ? 0 : 1;
} else if (what === "disk") {
  const run = await injectDiskFailures({ creates: 400, cuts: Number(number ?? 1_000), starts: 10 }, seed, say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  const { answered, power, control, takenAfterwards, endedMs, exitCode, lost, unmade } = run;
  const bites = answered > 0 && control.losing > 0 && run.unawaited > 0 && run.starts > 0;
  const kept = bites && power.losing + power.corrupt + lost + takenAfterwards + unmade === 0;
  process.exitCode = kept && endedMs <= 2_000 && exitCode === DISK_FAULT ? 0 : 1;
} else if (what === "files") {
  const run = await exhaustOpenFiles(say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  process.exitCode = run.survived && run.recoveredMs >= 0 && run.recoveredMs <= 10_000 && run.lost === 0 ? 0 : 1;
} else if (what === "kills") {
  const { kills, answered, lost } = await killUnderLoad(Number(number ?? 100), seed, say);
  process.stdout.write(`${JSON.stringify({ kills, answered, lost: lost.length })}\n`);
  for (const id of lost) say(`lost: ${id}`);
  process.exitCode = lost.length === 0 && answered > 0 ? 0 : 1;
} else if (what === "fuzz") {
  const { faults, ...figures } = await fuzz(Number(number ?? 100_000), seed, say);
  for (const fault of faults) say(fault);
  process.stdout.write(`${JSON.stringify({ ...figures, faults: faults.length })}\n`);
  const { alive, lagP99Ms, machineLagP99Ms, growthBytes } = figures;
  const kept = faults.length === 0 && alive && lagP99Ms - machineLagP99Ms < 100 && growthBytes < 100e6;
  process.exitCode = kept ? 0 : 1;
} else if (what === "answers") {
  const plan = { recipients: Number(number ?? 10_000), within: 5, escalatesAfter: 45, seed };
  const { broken, ...figures } = await runResponseStorm(plan, say);
  for (const promise of broken) say(promise);
  const limitPerProcessorSecond = await maxResponseRate();
  const ofLimit = Math.round((figures.perProcessorSecond / limitPerProcessorSecond) * 100) / 100;
  process.stdout.write(`${JSON.stringify({ ...figures, limitPerProcessorSecond, ofLimit, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.seconds <= plan.within ? 0 : 1;
} else if (what === "emergency") {
  const figures = await measureEmergencies({ devices: 1_000, running: 50, rounds: Number(number ?? 10) }, say);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const { sounding, sending, broken } = figures;
  process.exitCode = Math.max(sounding.p99Ms, sending.p99Ms) <= 1_000 && broken.length === 0 ? 0 : 1;
} else if (what === "calls") {
  const figures = await callMany({ calls: Number(number ?? 500), perSecond: 200, soundMs: 2_000 });
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exitCode = figures.answered === figures.calls && figures.endedWell ? 0 : 1;
} else if (what === "bulk") {
  const figures = await interruptBulkUpload(Number(number ?? 100_000), say);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exitCode = figures.broken.length === 0 && figures.pulse.longTurns === 0 ? 0 : 1;
} else if (what === "flaps") {
  const { broken, ...figures } = await flapAlarms({ flaps: Number(number ?? 10_000), crashes: 50, seed });
  for (const promise of broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else if (what === "failover" && values.bug !== undefined) {
  const { bugs, missed } = await detectPlantedBugs(values.bug, Number(number ?? 300), seed, say);
  process.stdout.write(`${JSON.stringify({ bugs, caught: bugs - missed.length, missed })}\n`);
  process.exitCode = bugs > 0 && missed.length === 0 ? 0 : 1;
} else if (what === "failover") {
  const { broken, ...figures } = await killAroundBells(Number(number ?? 1_000), seed);
  for (const promise of broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else if (what === "clock") {
  const library = libfaketime();
  if (!library) fail("Install Debian's faketime first.");
  const wanted = number === undefined ? CLOCK_STORIES : CLOCK_STORIES.slice(Number(number) - 1, Number(number));
  const stories = await playClockStories(wanted, library, say);
  const broken = stories.reduce((sum, story) => sum + story.broken.length, 0);
  process.stdout.write(`${JSON.stringify({ stories: stories.length, broken })}\n`);
  process.exitCode = broken === 0 && stories.length > 0 ? 0 : 1;
} else if (what === "time-zones") {
  const { differences, ...figures } = await compareAllZones();
  for (const { name, meaning, isKnown } of timeZoneAliases())
    say(`${name} stands for ${meaning}; the runtime ${isKnown ? "has a zone of that name" : "lacks it"}`);
  for (const difference of differences.slice(0, 100)) say(difference);
  process.stdout.write(`${JSON.stringify({ ...figures, differences: differences.length })}\n`);
  process.exitCode = differences.length === 0 && figures.times > 0 ? 0 : 1;
} else if (what === "calendars") {
  const files = [...writtenInputs(), ...(number === undefined ? [] : await readCorpus(number))];
  const mutated = mutatedFiles(files, Number(values.fuzz ?? 0), seed);
  const { verdicts, ...figures } = await runCorpus(concatenate(files, mutated), say);
  process.stdout.write(`${corpusTable(verdicts)}\n`);
  for (const { verdict, name, reason } of verdicts) if (verdict === "fault") say(`FAULT: ${name}: ${reason}`);
  for (const turn of figures.longTurns) say(`LONG: ${turn}`);
  process.stdout.write(
    `${JSON.stringify({ files: verdicts.length, ...figures, longTurns: figures.longTurns.length })}\n`,
  );
  const { alive, hangs, serverErrors, pulse } = figures;
  process.exitCode = alive && hangs + serverErrors === 0 && pulse.turnMaxMs <= MAX_TURN_MS ? 0 : 1;
} else if (what === "rosters") {
  const { first, again, machineTurnMaxMs } = await loadRoster(Number(number ?? 100_000), say);
  process.stdout.write(`${JSON.stringify({ first, again, machineTurnMaxMs })}\n`);
  const kept = [first, again].every(({ state, pulse }) => state === "complete" && pulse.turnMaxMs <= MAX_TURN_MS);
  process.exitCode = kept ? 0 : 1;
} else if (what === "bells") {
  const { broken, ...figures } = await changeManySchedules(Number(number ?? 3_500), say);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.pulse.longTurns === 0 ? 0 : 1;
} else if (what === "phones") {
  // Its support is that of the test runner's.
  const { measurePhones } = await import("./call-manager-phones-at-scale.ts");
  const { broken, ...figures } = await measurePhones(Number(number ?? 20_000), say);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.pulse.turnMaxMs < MAX_TURN_MS ? 0 : 1;
} else if (what === "systemd") {
  const run = await underSystemd(say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  const { hangMs, crashMs, endings, reached, devices, broken } = run;
  const written = endings[0] === "watchdog" && endings[1] === "signal KILL";
  process.exitCode =
    hangMs <= 10_000 && crashMs <= 10_000 && written && reached === devices && broken.length === 0 ? 0 : 1;
} else if (what === "disk-full") {
  const full = await fillDisk(say);
  process.stdout.write(`${JSON.stringify(full)}\n`);
  const { refused, reads, readsAsked, alarmed, recoveredMs, lost, survived } = full;
  const kept = refused.join() === "507 storage-full" && reads === readsAsked && alarmed && lost === 0 && survived;
  process.exitCode = kept && recoveredMs >= 0 && recoveredMs <= 5_000 ? 0 : 1;
} else if (what === "backup") {
  const run = await backupUnderLoad(Number(number ?? 100_000), 20, seed, say);
  for (const promise of run.broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...run, broken: run.broken.length })}\n`);
  const { backingUp, usuallyHeldMs, broken, named } = run;
  // A stall of the machine or of a disk that others use too comes now and then, one of the backup's own comes with each.
  const kept = backingUp.turnMaxMs <= MAX_TURN_MS && usuallyHeldMs <= MAX_TURN_MS;
  process.exitCode = broken.length === 0 && named > 0 && kept ? 0 : 1;
} else if (what === "cloud") {
  await playInField(
    () => injectCloudFaults(Number(number ?? 5), seed, say),
    ({ answered, agreedMs }) => answered > 0 && agreedMs >= 0,
  );
} else if (what === "cover") {
  await playInField(
    () => killActiveAppliance(Number(number ?? 20), seed, say),
    ({ bells }) => bells > 0,
  );
} else if (what === "catch-up") {
  const faketime = libfaketime();
  if (!faketime) fail("Install Debian's faketime first.");
  await playInField(
    () => measureSoundDuringCatchUp({ rows: Number(rows ?? 10_000), rounds: Number(number ?? 5), faketime }, say),
    ({ emergencies }) => emergencies > 0,
  );
} else if (what === "flood") {
  const floods = rows?.split(",") ?? null;
  const figures = await floodDaemon({ emergencies: Number(number ?? 20), floods, bug: values.bug ?? null }, say);
  const broken = figures.flatMap(brokenLimits);
  for (const limit of broken) say(`BROKEN: ${limit}`);
  const worst = (name: "pushP99Ms" | "watchdogGapMs" | "sessionMaxMs") =>
    Math.max(...figures.map((each) => each[name]));
  process.stdout.write(
    `${JSON.stringify({
      ...{ floods: figures.length, pushP99Ms: worst("pushP99Ms"), watchdogGapMs: worst("watchdogGapMs") },
      ...{ sessionMaxMs: worst("sessionMaxMs"), broken: broken.length },
    })}\n`,
  );
  process.exitCode = broken.length === 0 && figures.length > 0 ? 0 : 1;
} else if (what === "network") {
  if (values.bug !== undefined && values.bug !== "no-watch") usage();
  const [first = "", ...others] = NETWORK_SCENES;
  const names = number === undefined ? NETWORK_SCENES : [first, ...others.filter((_, at) => at === Number(number) - 2)];
  await playInField(
    async () => {
      const { results, ...figures } = await changeNetwork(names, values.bug === "no-watch", say);
      process.stdout.write(`${networkTable(results)}\n`);
      return { scenes: results.length, ...figures };
    },
    ({ scenes }) => scenes === names.length,
  );
} else if (what === "heard") {
  if (values.bug !== undefined && values.bug !== "level-rule") usage();
  const plan = { rooms: Number(number ?? 2_000), seed: Number(rows ?? seed), isPlanted: values.bug === "level-rule" };
  const results = await hearRooms(plan, say);
  const { broken, table, ...figures } = results;
  say(table);
  for (const promise of broken) say(promise);
  if (values.write) writeBenchmarkTable("heard", heardReport(results));
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.silent > 0 ? 0 : 1;
} else if (what === "hub-nodes") {
  await playInField(
    () => failNodes(Number(number ?? 6), say),
    ({ answered }) => answered > 0,
  );
} else {
  usage();
}

/**
 * Plays in networks of its own: this process runs all of it once more there, and ends as that does. The last line also has
 * the machine's load over 1, 5 and 15 minutes.
 */
async function playInField<T extends { broken: string[] }>(
  play: () => Promise<T>,
  isWhole: (run: T) => boolean,
): Promise<void> {
  const code = await reexecInNamespace().catch((error: Error) => fail(error.message));
  if (code !== null) process.exit(code);
  const run = await play().catch((error: Error) => ({ broken: [`it broke off: ${error.stack}`] }) as T);
  for (const promise of run.broken) say(`BROKEN: ${promise}`);
  const load = loadavg().map((each) => Math.round(each * 10) / 10);
  process.stdout.write(`${JSON.stringify({ ...run, load, broken: run.broken.length })}\n`);
  process.exitCode = run.broken.length === 0 && isWhole(run) ? 0 : 1;
}

function* concatenate<T>(...all: readonly Iterable<T>[]): Generator<T> {
  for (const each of all) yield* each;
}

function usage(): never {
  fail(
    "Usage: npm run faults [-- inputs|disk|files|kills|fuzz|answers|emergency|calls|bulk|bells|flaps|failover|phones|clock|time-zones|calendars|rosters|systemd|disk-full|backup|cloud|cover|catch-up|network|hub-nodes|flood|heard [NUMBER] [--seed S]]\nSee: npm run faults -- --help",
  );
}

function fail(words: string): never {
  say(words);
  process.exit(2);
}
