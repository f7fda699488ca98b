import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acknowledgeAlarm } from "../../../src/alarms/acknowledgement.ts";
import { asGiven } from "../../../src/lib/sentences/sentences.ts";
import type { HealthReason } from "../../../src/ops/health/health.ts";
import alarmActions from "../../../src/resources/alarms/alarm-actions.ts";
import alarmMutes from "../../../src/resources/alarms/alarm-mutes.ts";
import { ALARM_IDS } from "../../../src/resources/alarms/alarm-types.ts";
import alarms from "../../../src/resources/alarms/alarms.ts";
import devices from "../../../src/resources/devices/devices.ts";
import dialcastDialingConfigurations from "../../../src/resources/inputs/dialcast-dialing-configurations.ts";
import { ADMINISTRATION_LIST_ID } from "../../../src/resources/lists/administration-list.ts";
import loadDefinitions from "../../../src/resources/loads/load-definitions.ts";
import loadRuns from "../../../src/resources/loads/load-runs.ts";
import messageTemplates from "../../../src/resources/messages/message-templates.ts";
import userTokens from "../../../src/resources/people/user-tokens.ts";
import apiDevices from "../../../src/resources/places/api-devices.ts";
import buildings from "../../../src/resources/places/buildings.ts";
import floors from "../../../src/resources/places/floors.ts";
import sites from "../../../src/resources/places/sites.ts";
import zones from "../../../src/resources/places/zones.ts";
import securityGroupMembers from "../../../src/resources/security/security-group-members.ts";
import securityGroups from "../../../src/resources/security/security-groups.ts";
import { type AlarmsFixture, openAlarms } from "./alarms-fixture.ts";

const DISK: HealthReason = { level: "red", code: "disk", reason: asGiven("100 MiB of the disk are free, 1.0 %.") };
const PLUGIN: HealthReason = { level: "red", code: "plugin:pa", reason: asGiven("Plugin pa was given up.") };

const FAULT = { faults: [{ field: "userIds", type: "invalid-value" }] };

describe("alarms", () => {
  let scene: AlarmsFixture;
  beforeEach(async () => {
    scene = await openAlarms();
  });
  afterEach(() => scene.close());

  it("are raised once for a lasting fault and cleared a minute after it is gone", async () => {
    scene.wrong.push(DISK);
    await scene.pass(5_000);
    expect(scene.statusOf("onprem_server_red")).toBe("OK");
    await scene.pass(10_000);
    expect(scene.statusOf("onprem_server_red")).toBe("ACTIVE");
    await scene.pass(600_000);
    scene.wrong.length = 0;
    await scene.pass(50_000);
    expect(scene.statusOf("onprem_server_red")).toBe("ACTIVE");
    await scene.pass(15_000);
    expect(scene.statusOf("onprem_server_red")).toBe("OK");
    const reasons = [DISK.reason];
    expect(scene.eventsOf("onprem_server_red")).toEqual([
      { status: "ACTIVE", reasons },
      { status: "OK", reasons },
    ]);
    expect(scene.eventsOf("onprem_server_yellow")).toEqual([]);
  });

  it("stay active when acknowledged; a new reason or a change of status clears the acknowledgement", async () => {
    const { onprem_server_red: id } = ALARM_IDS;
    const seenTo = () => {
      const { status, acknowledgedBy, acknowledgementNote } = scene.store.get(alarms, id) ?? {};
      return { status, acknowledgedBy, acknowledgementNote };
    };
    const say = () =>
      scene.store.write((tx) => void acknowledgeAlarm(tx, id, "On my way", scene.clock.now(), scene.by));
    const ours = { status: "ACTIVE", acknowledgedBy: scene.by.actor.name, acknowledgementNote: "On my way" };
    const nobodys = { status: "ACTIVE", acknowledgedBy: null, acknowledgementNote: null };
    await expect(say()).rejects.toThrow("Only an active alarm can be acknowledged.");
    scene.wrong.push(DISK);
    await scene.pass(15_000);
    await say();
    await scene.pass(600_000);
    await scene.restart();
    expect(seenTo()).toEqual(ours);
    scene.wrong.push(PLUGIN);
    await scene.pass(15_000);
    expect(seenTo()).toEqual(nobodys);
    await say();
    // One reason less is nothing that anybody must see to.
    scene.wrong.pop();
    await scene.pass(65_000);
    expect(seenTo()).toEqual(ours);
    scene.wrong.length = 0;
    await scene.pass(65_000);
    expect(seenTo()).toEqual({ ...nobodys, status: "OK" });
    scene.wrong.push(DISK);
    await scene.pass(15_000);
    expect(seenTo()).toEqual(nobodys);
  });

  it("are raised once by a flapping fault and survive a restart", async () => {
    for (let at = 0; at < 20; at++) {
      scene.wrong.push(DISK);
      await scene.pass(5_000);
      scene.wrong.length = 0;
      await scene.pass(5_000);
      if (at === 10) await scene.restart();
    }
    expect(scene.eventsOf("onprem_server_red").map(({ status }) => status)).toEqual(["ACTIVE"]);
    await scene.pass(90_000);
    expect(scene.eventsOf("onprem_server_red").map(({ status }) => status)).toEqual(["ACTIVE", "OK"]);
  });

  it("send the template of the action to its recipients, also on recovery", async () => {
    const [boss, other] = [await scene.user("Boss"), await scene.user("Other")];
    const list = await scene.list("Everybody", [other]);
    const words = { name: "Alarm", subject: "{{alarm}}: {{status}}", body: "{{reasons}} ({{server}})" };
    const template = await scene.create(messageTemplates, { ...words, distributionListIds: [list] });
    await scene.action("onprem_server_red", "ACTIVE", { messageTemplateId: template.id, userIds: [boss] });
    await scene.action("onprem_server_red", "OK", { messageTemplateId: template.id });
    scene.wrong.push(DISK);
    await scene.pass(20_000);
    scene.wrong.length = 0;
    await scene.pass(90_000);
    const rows = scene.store.all("SELECT subject, body, notification_source AS source FROM notifications ORDER BY pk");
    const [about, source] = ["Server severely degraded", "onprem-server-red"];
    expect(rows).toEqual([
      { subject: `${about}: ACTIVE`, body: `${DISK.reason} (Here)`, source },
      { subject: `${about}: OK`, body: `${DISK.reason} (Here)`, source },
    ]);
    expect(scene.sent.map(({ input }) => [input.userIds, input.distributionListIds])).toEqual([
      [[boss], []],
      [undefined, undefined],
    ]);
  });

  it("notify the administration list without a template, and administrators while it is empty", async () => {
    const admin = await scene.user("Admin");
    const group = await scene.create(securityGroups, { name: "Administrators", superGroup: true });
    await scene.create(securityGroupMembers, { securityGroupId: group.id, userId: admin });
    await scene.action("sis_loader_failed", "ACTIVE");
    const source = await scene.create(loadDefinitions, { name: "School", type: "table", path: "a.csv" });
    await scene.store.create(loadRuns, { loadDefinitionId: source.id }, scene.by, {
      state: "failed",
      reason: "No file.",
    });
    await scene.pass(5_000);
    expect(scene.sent).toEqual([
      {
        source: "sis-loader-failed",
        input: {
          subject: "Alarm: Import of people failed (Here)",
          body: "The load from School failed: No file.",
          distributionListIds: [ADMINISTRATION_LIST_ID],
        },
      },
    ]);
    await scene.store.create(loadRuns, { loadDefinitionId: source.id }, scene.by, { state: "complete" });
    await scene.pass(70_000);
    expect(scene.statusOf("sis_loader_failed")).toBe("OK");
    await scene.store.write((tx) => void tx.run("DELETE FROM subscriptions"));
    await scene.store.create(loadRuns, { loadDefinitionId: source.id }, scene.by, { state: "stopped" });
    await scene.pass(5_000);
    expect(scene.sent[1]?.input).toMatchObject({ userIds: [admin], body: "The load from School was stopped." });
  });

  it("notify about a further reason of an active alarm without another event", async () => {
    await scene.user("Admin");
    const template = await scene.create(messageTemplates, { name: "T", subject: "S", body: "{{reasons}}" });
    const userIds = [await scene.user("Boss")];
    await scene.action("onprem_server_red", "ACTIVE", { messageTemplateId: template.id, userIds });
    scene.wrong.push(DISK);
    await scene.pass(20_000);
    scene.wrong.push(PLUGIN);
    await scene.pass(20_000);
    await scene.restart();
    await scene.pass(20_000);
    const bodies = scene.store.all<{ body: string }>("SELECT body FROM notifications ORDER BY pk");
    expect(bodies.map(({ body }) => body)).toEqual([DISK.reason, PLUGIN.reason]);
    expect(scene.eventsOf("onprem_server_red")).toHaveLength(1);
  });

  it("record events but send nothing while muted", async () => {
    const userIds = [await scene.user("Boss")];
    const template = await scene.create(messageTemplates, { name: "T", subject: "S", body: "{{reasons}}" });
    for (const status of ["ACTIVE", "OK"] as const) {
      await scene.action("onprem_server_red", status, { messageTemplateId: template.id, userIds });
    }
    const round = async (reason: HealthReason): Promise<number> => {
      const before = scene.sent.length;
      scene.wrong.push(reason);
      await scene.pass(20_000);
      scene.wrong.length = 0;
      await scene.pass(90_000);
      return scene.sent.length - before;
    };
    const alarmId = ALARM_IDS.onprem_server_red;
    const until = new Date(scene.clock.now() + 3_600_000).toISOString();
    await scene.create(alarmMutes, { alarmId, until, reason: "THE DISK" });
    expect(await round(DISK)).toBe(0);
    expect(await round(PLUGIN)).toBe(2);
    await scene.pass(3_600_000);
    expect(await round(DISK)).toBe(2);
    await scene.store.update(alarms, alarmId, { muted: true }, scene.by);
    expect(await round(DISK)).toBe(0);
    expect(scene.eventsOf("onprem_server_red")).toHaveLength(8);
  });

  it("clear for unknown devices when the device is registered, or manually", async () => {
    const start = (device: string): Promise<unknown> =>
      scene.store.write((tx) => {
        tx.run(
          "INSERT INTO scenario_unknown_devices (at, scenario_id, scenario_name, external_id) VALUES (1, ?, 'Fire', ?)",
          ...["0190aaaa-0000-7000-8000-000000000001", device],
        );
      });
    const alarmId = ALARM_IDS.scenario_device_resolution_failed;
    expect(() => scene.alarms.setManually(ALARM_IDS.onprem_server_red, "OK", scene.by)).toThrow("alarmId");
    expect(() => scene.alarms.setManually(alarmId, "ACTIVE", scene.by)).toThrow("status");
    await expect(scene.alarms.setManually(alarmId, "OK", scene.by)).rejects.toThrow("not active");
    await start("button-1");
    await scene.pass(5_000);
    expect(scene.eventsOf("scenario_device_resolution_failed")).toEqual([
      { status: "ACTIVE", reasons: ["Fire was started by a device that is not registered: button-1"] },
    ]);
    expect(await scene.alarms.setManually(alarmId, "OK", scene.by)).toMatchObject({ status: "OK" });
    await scene.pass(60_000);
    expect(scene.eventsOf("scenario_device_resolution_failed")).toHaveLength(2);
    await start("button-2");
    await scene.pass(5_000);
    expect(scene.statusOf("scenario_device_resolution_failed")).toBe("ACTIVE");
    const site = await scene.create(sites, { name: "School" });
    const building = await scene.create(buildings, { siteId: site.id, name: "Main" });
    const place = { siteId: site.id, buildingId: building.id };
    await scene.create(apiDevices, { name: "Button", externalId: "button-2", ...place });
    await scene.pass(70_000);
    expect(scene.statusOf("scenario_device_resolution_failed")).toBe("OK");
  });

  it("use the threshold of each appliance for unregistered speakers", async () => {
    const zone = (name: string, registered: string): Promise<string> =>
      scene.zone(name, { attributes: { IsRegistered: registered } });
    const ids = [await zone("1", "false"), await zone("2", "false"), await zone("3", "true")];
    await scene.pass(60_000);
    expect(scene.eventsOf("speakers_unregistered")).toEqual([
      { status: "ACTIVE", reasons: ["2 speakers are not registered; the threshold is 0."] },
    ]);
    expect(ids).toHaveLength(3);
    const alarmThresholds = [{ endpointId: scene.endpointId, threshold: 2 }];
    await scene.store.update(alarms, ALARM_IDS.speakers_unregistered, { alarmThresholds }, scene.by);
    await scene.pass(120_000);
    expect(scene.statusOf("speakers_unregistered")).toBe("OK");
    await zone("4", "false");
    await scene.pass(60_000);
    expect(scene.statusOf("speakers_unregistered")).toBe("ACTIVE");
    const wrong = (thresholds: unknown, alarm: keyof typeof ALARM_IDS = "speakers_unregistered") =>
      scene.store.update(alarms, ALARM_IDS[alarm], { alarmThresholds: thresholds }, scene.by);
    await expect(wrong(alarmThresholds, "token_expiration")).rejects.toThrow("alarmThresholds");
    await expect(wrong([{ endpointId: scene.endpointId, threshold: -1 }])).rejects.toThrow("threshold");
    await expect(wrong([{ endpointId: ALARM_IDS.token_expiration, threshold: 1 }])).rejects.toThrow("endpointId");
    await expect(wrong([...alarmThresholds, ...alarmThresholds])).rejects.toThrow("alarmThresholds");
  });

  it("name the share and the buildings of silent devices, without zones and disabled devices", async () => {
    const site = await scene.create(sites, { name: "School" });
    const zoneIn = async (name: string): Promise<string> => {
      const building = await scene.create(buildings, { siteId: site.id, name });
      const floor = await scene.create(floors, { siteId: site.id, buildingId: building.id, name: "Ground" });
      const at = { siteId: site.id, buildingId: building.id, floorId: floor.id };
      return (await scene.create(zones, { ...at, name: "Room" })).id;
    };
    const rooms = [await zoneIn("Gym"), await zoneIn("Main")];
    const set = (ids: readonly string[], state: string) =>
      scene.store.write((tx) => {
        for (const id of ids) tx.run("UPDATE devices SET state = ? WHERE id = ?", state, id);
      });
    const speakers = async (prefix: string, n: number, zoneId: string | null): Promise<string[]> => {
      const ids: string[] = [];
      for (let at = 0; at < n; at++) ids.push(await scene.zone(`${prefix}${at}`, zoneId === null ? {} : { zoneId }));
      return ids;
    };
    await set(await speakers("ok", 95, null), "answering");
    await set(await speakers("unknown", 20, null), "sent");
    const [gym, main, nowhere] = [
      await speakers("gym", 1, rooms[0] as string),
      await speakers("main", 3, rooms[1] as string),
      await speakers("nowhere", 1, null),
    ];
    await set([...gym, ...main, ...nowhere], "silent");
    await scene.pass(90_000);
    expect(scene.statusOf("silent_devices")).toBe("OK");
    const [out] = await speakers("out", 1, null);
    await scene.store.update(devices, out as string, { defunct: true }, scene.by);
    await set([out as string], "silent");
    await scene.pass(90_000);
    expect(scene.statusOf("silent_devices")).toBe("OK");
    await set(await speakers("one-more", 1, rooms[0] as string), "silent");
    await scene.pass(90_000);
    expect(scene.eventsOf("silent_devices")).toEqual([
      {
        status: "ACTIVE",
        reasons: ["6 of 101 devices do not respond (5 %): Main 3, Gym 2, no place 1. The threshold is 5 %."],
      },
    ]);
    const alarmThresholds = [{ endpointId: scene.endpointId, threshold: 50 }];
    await scene.store.update(alarms, ALARM_IDS.silent_devices, { alarmThresholds }, scene.by);
    await scene.pass(150_000);
    expect(scene.statusOf("silent_devices")).toBe("OK");
    const tooLarge = [{ endpointId: scene.endpointId, threshold: 101 }];
    await expect(
      scene.store.update(alarms, ALARM_IDS.silent_devices, { alarmThresholds: tooLarge }, scene.by),
    ).rejects.toThrow("between 0 and 100");
  });

  it("count bells of a day that were missed, late, or not heard by some devices", async () => {
    const DAY = 86_400_000;
    const now = scene.clock.now();
    const ring = (entry: string, state: string, at: number): Promise<unknown> =>
      scene.store.write((tx) => {
        tx.run(
          `INSERT INTO bell_rings (id, kind, owner, entry, local_date, local_time, at, state, open, asked)
           VALUES (?, 'bell', 'schedule', ?, '2026-01-12', '08:00:00', ?, ?, 0, 1)`,
          ...[`ring-${entry}`, entry, at, state],
        );
      });
    await ring("heard", "rung", now - 1_000);
    await ring("old", "missed", now - DAY - 1_000);
    await ring("offline", "missed", now - 2_000);
    await scene.store.write((tx) => {
      tx.run("INSERT INTO bell_offline_rings (device, ring, at) VALUES (1, 'ring-offline', ?)", now - 2_000);
    });
    await scene.pass(90_000);
    expect(scene.statusOf("missed_bells")).toBe("OK");
    await ring("missed", "missed", now - 3_000);
    await ring("late", "late", now - 4_000);
    const bell = await scene.send({ subject: "Lesson", deviceGroupIds: [await scene.group("All", [])] });
    await scene.send({ subject: "No bell", deviceGroupIds: [await scene.group("None", [])] });
    await scene.store.write((tx) => {
      tx.run("UPDATE notifications SET held_until = ? WHERE id = ?", now, bell.id);
      for (const [level, n] of [
        ["failed", 3],
        ["expired", 1],
        ["playing", 8],
      ] as const)
        tx.run(
          `INSERT INTO notification_counters (notification, name, n) SELECT pk, 'level:' || ?, ? FROM notifications`,
          level,
          n,
        );
    });
    await scene.pass(90_000);
    expect(scene.eventsOf("missed_bells")).toEqual([
      {
        status: "ACTIVE",
        reasons: ["Bells of the last 24 hours: 1 missed, 1 late, 1 not heard by 4 devices. The threshold is 0."],
      },
    ]);
    await scene.pass(DAY);
    expect(scene.statusOf("missed_bells")).toBe("OK");
  });

  it("stay for a day after security changes and name who changed what", async () => {
    await scene.pass(30_000);
    expect(scene.statusOf("security_change")).toBe("OK");
    const actor = { kind: "user", userId: null, name: "Eve", address: "192.0.2.7" } as const;
    const details = { change: "Ann is now a break-glass account." };
    await scene.store.write((tx) => {
      tx.addAuditEvent({ op: "trust-change", resource: "users", rowId: null, details }, { ...scene.by, actor });
      const request = { request: "POST /link" };
      tx.addAuditEvent({ op: "trust-change", resource: "link", rowId: null, details: request }, { ...scene.by, actor });
    });
    await scene.pass(30_000);
    expect(scene.eventsOf("security_change")).toEqual([
      { status: "ACTIVE", reasons: ["Eve: POST /link", "Eve: Ann is now a break-glass account."] },
    ]);
    await scene.pass(86_400_000 + 120_000);
    expect(scene.statusOf("security_change")).toBe("OK");
  });

  it("of an attack on the log-in counts refused and throttled ones of 15 minutes", async () => {
    const refuse = (op: "log-in-refused" | "log-in-throttled" | "credential-refused", details: object = {}) =>
      scene.store.write((tx) =>
        tx.addAuditEvent({ op, resource: "users", rowId: null, details: { ...details } }, scene.by),
      );
    for (let n = 0; n < 50; n++) await refuse("log-in-refused");
    await refuse("credential-refused", { what: "access token", count: 50 });
    await scene.pass(60_000);
    expect(scene.statusOf("login_attack")).toBe("OK");
    await refuse("log-in-throttled", { what: "log-in", count: 1 });
    await scene.pass(60_000);
    expect(scene.eventsOf("login_attack")).toMatchObject([
      { status: "ACTIVE", reasons: [expect.stringContaining("More than 100 log-ins and credentials were refused")] },
    ]);
    await scene.pass(20 * 60_000);
    expect(scene.statusOf("login_attack")).toBe("OK");
  });

  it("of guessed PINs names the telephone number", async () => {
    const guess = (rowId: string) =>
      scene.store.write((tx) =>
        tx.addAuditEvent(
          { op: "credential-refused", resource: "dialcast-dialing-configurations", rowId, details: {} },
          scene.by,
        ),
      );
    const template = await scene.store.create(messageTemplates, { name: "Page", subject: "Page" }, scene.by);
    const number = await scene.store.create(
      dialcastDialingConfigurations,
      { name: "Page the hall", type: "NOTIFICATION", dialingPatternRegex: "801", messageTemplateId: template.id },
      scene.by,
    );
    for (let n = 0; n < 9; n++) await guess(number.id);
    await scene.pass(60_000);
    expect(scene.statusOf("login_attack")).toBe("OK");
    await guess(number.id);
    await scene.pass(60_000);
    expect(scene.eventsOf("login_attack")).toMatchObject([
      {
        status: "ACTIVE",
        reasons: [expect.stringContaining('10 wrong PINs were entered by telephone for "Page the hall"')],
      },
    ]);
    await scene.pass(20 * 60_000);
    expect(scene.statusOf("login_attack")).toBe("OK");
  });

  it("clear for unregistered speakers with hysteresis", async () => {
    const ids: string[] = [];
    for (let at = 0; at < 11; at++) ids.push(await scene.zone(`z${at}`, { attributes: { IsRegistered: "false" } }));
    const alarmThresholds = [{ endpointId: scene.endpointId, threshold: 10 }];
    await scene.store.update(alarms, ALARM_IDS.speakers_unregistered, { alarmThresholds }, scene.by);
    await scene.pass(60_000);
    expect(scene.statusOf("speakers_unregistered")).toBe("ACTIVE");
    const set = (at: number, registered: string) =>
      scene.store.update(devices, ids[at] as string, { attributes: { IsRegistered: registered } }, scene.by);
    await set(0, "true");
    await scene.pass(150_000);
    expect(scene.statusOf("speakers_unregistered")).toBe("ACTIVE");
    await set(1, "true");
    await scene.pass(150_000);
    expect(scene.statusOf("speakers_unregistered")).toBe("OK");
    await set(1, "false");
    await scene.pass(150_000);
    expect(scene.eventsOf("speakers_unregistered")).toHaveLength(2);
  });

  it("clear for tokens that expire within 14 days once the token is deleted", async () => {
    const userId = await scene.user("Robot");
    const expires = new Date(scene.clock.now() + 15 * 86_400_000).toISOString();
    const token = await scene.store.create(userTokens, { userId, name: "Robot", expires }, scene.by, {
      kind: "permanent",
      tokenHash: "1",
    });
    await scene.pass(60_000);
    expect(scene.eventsOf("token_expiration")).toEqual([]);
    await scene.clock.advance(86_400_000);
    await scene.pass(60_000);
    expect(scene.eventsOf("token_expiration").map(({ reasons }) => reasons)).toEqual([
      [expect.stringMatching(/^Token Robot of .* expires on 2026-01-27\.$/)],
    ]);
    await scene.store.remove(userTokens, token.id, scene.by);
    await scene.pass(120_000);
    expect(scene.statusOf("token_expiration")).toBe("OK");
  });

  it("keep reported faults until they are cleared, across restarts", async () => {
    const fault = { alarm: "license_violation", code: "phones", endpointId: null };
    scene.events.emit("fault.changed", { ...fault, reason: "520 phones; 500 are licensed." });
    await scene.pass(20_000);
    await scene.restart();
    await scene.pass(300_000);
    expect(scene.eventsOf("license_violation")).toEqual([
      { status: "ACTIVE", reasons: ["520 phones; 500 are licensed."] },
    ]);
    scene.events.emit("fault.changed", { ...fault, reason: null });
    await scene.pass(70_000);
    expect(scene.statusOf("license_violation")).toBe("OK");
  });

  it("reject actions with recipients but no template", async () => {
    const userIds = [await scene.user("Boss")];
    await expect(scene.action("token_expiration", "OK", { userIds })).rejects.toMatchObject(FAULT);
    const id = await scene.action("token_expiration", "OK");
    await expect(scene.store.update(alarmActions, id, { userIds }, scene.by)).rejects.toMatchObject(FAULT);
  });
});
