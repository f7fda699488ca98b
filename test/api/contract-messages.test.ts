import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CUSTOMIZABLE_FIELDS } from "../../src/resources/messages/template-customization.ts";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { eventually } from "../support/timeouts.ts";
import { type ContractBody, createContractClient } from "./contract-client.ts";
import { createWav, PNG_BYTES } from "./sample-files.ts";

let daemon: TestDaemon;
const { call, create, refusal } = createContractClient(() => daemon);
let list: ContractBody;
let people: ContractBody[];
let request: ContractBody;
beforeAll(async () => {
  daemon = await startTestDaemon();
  list = await create("/distribution-lists", { name: "Staff" });
  people = [];
  for (const name of ["Ann", "Bob", "Cyd"]) {
    const user = await create("/users", { name, email: `${name}@example.org` });
    await create(`/users/${user.id}/subscriptions`, { distributionListId: list.id });
    people.push({ ...user, token: (await create(`/users/${user.id}/tokens`, { name: "t" })).token });
  }
  request = await create("/confirmation-requests", { name: "Safe?", options: ["Yes", "No"] });
});
afterAll(() => daemon.stop());

/** Looks again until `seen` is content; the pipeline works beside the requests. */
const shows = (path: string, seen: (body: ContractBody) => void): Promise<void> =>
  eventually(async () => seen((await call("GET", path)).body));

function form(members: Record<string, string | Blob>): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(members)) {
    if (typeof value === "string") data.append(name, value);
    else data.append(name, value, "upload.bin");
  }
  return data;
}

type Row = readonly [claim: string, check: () => Promise<unknown>];

const REQUESTS: readonly Row[] = [
  [
    "name and options required; options at least one",
    async () => {
      const at = "/confirmation-requests";
      expect(await refusal("POST", at, { options: ["a"] })).toBe("400 required name");
      expect(await refusal("POST", at, { name: "n" })).toBe("400 required options");
      expect(await refusal("POST", at, { name: "n", options: [] })).toBe("400 invalid-value options");
      expect(await refusal("POST", at, { name: "n", options: ["a", 1] })).toMatch(/^400 invalid-value options/);
    },
  ],
  [
    "initiateTrackingOptions has one flag per option",
    async () => {
      const body = { name: "n", options: ["a", "b"], initiateTrackingOptions: [true, "false"] };
      expect((await create("/confirmation-requests", body)).initiateTrackingOptions).toEqual([true, false]);
      const more = { ...body, initiateTrackingOptions: [true, false, true] };
      expect(await refusal("POST", "/confirmation-requests", more)).toBe("400 invalid-value initiateTrackingOptions");
    },
  ],
  [
    "includeDynamicReplies and includeEscalationRules: default true; clone copies replies and rules",
    async () => {
      const { id } = await create("/confirmation-requests", { name: "Deep", options: ["Yes"], expirationPeriod: 60 });
      const reply = { optionLabel: "Yes", quota: 2, first: "f", rest: "r", every: "e" };
      await create(`/confirmation-requests/${id}/dynamic-replies`, reply);
      const rule = { delay: 5, optionLabel: "Yes", comparison: "LT", comparisonValue: 3, subject: "s", body: "b" };
      await create(`/confirmation-requests/${id}/escalation-rules`, { ...rule, distributionListIds: [list.id] });
      const at = `/confirmation-requests/${id}`;
      expect((await call("GET", at)).body).toMatchObject({ dynamicReplies: [reply], escalationRules: [rule] });
      const bare = (await call("GET", `${at}?include-dynamic-replies=false&includeEscalationRules=false`)).body;
      expect(Object.keys(bare)).not.toEqual(expect.arrayContaining(["dynamicReplies"]));
      expect(bare).not.toHaveProperty("escalationRules");
      expect(await create(`${at}/clone`)).toMatchObject({
        name: "Deep (Copy)",
        expirationPeriod: 60,
        dynamicReplies: [reply],
        escalationRules: [{ ...rule, distributionListIds: [list.id] }],
      });
      expect((await create(`${at}/clone`)).name).toBe("Deep (Copy 2)");
    },
  ],
  [
    "a rule needs delay, optionLabel, comparison GT LT EQ NE, comparisonValue and subject; takes image and audio uploads",
    async () => {
      const at = `/confirmation-requests/${request.id}/escalation-rules`;
      const answer = await call("POST", at, {});
      expect((answer.body.errors as { field: string; type: string }[]).map(({ field }) => field)).toEqual([
        "delay",
        "optionLabel",
        "comparison",
        "comparisonValue",
        "subject",
      ]);
      const rule = { delay: "5", optionLabel: "Yes", comparison: "GE", comparisonValue: "1", subject: "s" };
      expect(await refusal("POST", at, form(rule))).toBe("400 invalid-value comparison");
      const files = { image: new Blob([PNG_BYTES]), audio: new Blob([createWav(0.1)]) };
      const { id, image, audio } = await create(at, form({ ...rule, comparison: "NE", ...files }));
      expect([image, audio]).toEqual([PNG_BYTES.length, createWav(0.1).length]);
      expect((await call("GET", `${at}/${id}/image`)).headers.get("content-type")).toBe("image/png");
      expect((await call("DELETE", `${at}/${id}`)).status).toBe(200);
      expect(
        await refusal("POST", at, { ...rule, delay: 5, comparisonValue: 1, comparison: "NE", optionLabel: "?" }),
      ).toBe("400 invalid-value optionLabel");
    },
  ],
];

const OTHERS: Record<(typeof CUSTOMIZABLE_FIELDS)[number], () => unknown> = {
  subject: () => "Other",
  body: () => "Other",
  audio: () => new Blob([createWav(0.2)]),
  image: () => new Blob([PNG_BYTES]),
  confirmationRequestId: () => request.id,
  distributionListIds: () => [],
  userIds: () => [people[0]?.id],
  deviceGroupIds: () => [],
  areaOfInterestIds: () => [],
  collaborationGroupIds: () => [],
  incidentPlanId: () => null,
  expiration: () => 120,
  alertTone: () => "chime",
  ttsVoiceId: () => null,
  ttsCustomContent: () => "Other",
};

const TEMPLATES: readonly Row[] = [
  [
    "creation needs at least name and subject",
    async () => {
      const answer = await call("POST", "/message-templates", {});
      expect(answer.body.errors).toMatchObject([{ field: "name" }, { field: "subject" }]);
    },
  ],
  [
    "every Customizable flag and every Display (show, hide, auto) is stored",
    async () => {
      const { id } = await create("/message-templates", { name: "F", subject: "S" });
      for (const field of [...CUSTOMIZABLE_FIELDS]) {
        const put = { [`${field}Customizable`]: true, [`${field}Display`]: "hide" };
        expect((await call("PUT", `/message-templates/${id}`, put)).body).toMatchObject(put);
        const wrong = { [`${field}Display`]: "never" };
        expect(await refusal("PUT", `/message-templates/${id}`, wrong)).toBe(`400 invalid-value ${field}Display`);
      }
      const put = { metadataCustomizable: true, metadata: { a: [1] }, followUp: true, optOut: true };
      expect((await call("PUT", `/message-templates/${id}`, put)).body).toMatchObject(put);
      expect((await call("GET", "/message-templates?followUp=true")).body.data.map((row) => row.id)).toEqual([id]);
    },
  ],
  [
    "audio and image: integer sizes, 0 when none; descriptors with fileName, size, contentType, metadata (width, height)",
    async () => {
      const bare = await create("/message-templates", { name: "F", subject: "S" });
      expect(bare).toMatchObject({ audio: 0, image: 0, audioFiles: [], imageFiles: [], imageMimeType: null });
      const files = { audio: new Blob([createWav(0.5)]), image: new Blob([PNG_BYTES]) };
      const full = await create("/message-templates", form({ name: "F", subject: "S", ...files }));
      const size = createWav(0.5).length;
      expect(full).toMatchObject({
        audio: size,
        image: PNG_BYTES.length,
        audioSize: size,
        imageSize: PNG_BYTES.length,
        imageMimeType: "image/png",
        audioFiles: [{ fileName: "upload.bin", size, contentType: "audio/wav", metadata: expect.any(Object) }],
        imageFiles: [{ size: PNG_BYTES.length, contentType: "image/png", metadata: { width: 1, height: 1 } }],
        audioHash: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      const converted = await call("GET", `/message-templates/${full.id}/audio?convert=pcm&download=true`);
      expect(converted.status).toBe(200);
      expect(converted.headers.get("content-length")).toBe(String(44 + 2 * 4_000));
      expect(converted.headers.get("content-disposition")).toMatch(/^attachment/);
      const shown = await call("GET", `/message-templates/${full.id}/image`);
      expect(shown.headers.get("content-disposition")).toMatch(/^inline/);
      expect(await refusal("GET", `/message-templates/${full.id}/audio?convert=mp3`)).toBe("400 invalid-value convert");
      const cleared = await call("PUT", `/message-templates/${full.id}`, { audio: null });
      expect(cleared.body).toMatchObject({ audio: 0, image: PNG_BYTES.length });
    },
  ],
  [
    "additionalDeviceRecipients: single devices by id or identifier, beside all other recipients or alone",
    async () => {
      const { extensionId, endpointId } = daemon.first;
      const input = { type: "speakers", deviceIdentifier: "zone:gym", description: "Gym" };
      const attributes = { Group: "239.9.9.9", Port: "5004" };
      const zone = await create(`/extensions/${extensionId}/endpoints/${endpointId}/devices`, { ...input, attributes });
      const send = (lookupValue: string, type = "ip-speaker") => ({
        subject: "S",
        additionalDeviceRecipients: [{ type, lookupValue }],
      });
      for (const lookupValue of [zone.id, "zone:gym", "Zone:Gym"]) {
        const sent = await create("/notifications", send(lookupValue));
        expect(sent.additionalDeviceIds).toEqual([zone.id]);
        await shows(`/notifications/${sent.id}/devices`, ({ data }) =>
          expect(data.map(({ deviceIdentifier }) => deviceIdentifier)).toEqual(["zone:gym"]),
        );
      }
      const draft = await create("/notifications", { ...send(zone.id), draft: true });
      expect(draft.progress).toMatchObject({ preview: { devices: { speakers: 1 } } });
      const at = "400 invalid-value additionalDeviceRecipients[0]";
      expect(await refusal("POST", "/notifications", send("zone:none"))).toBe(`${at}.lookupValue`);
      expect(await refusal("POST", "/notifications", send(zone.id, "phone"))).toBe(`${at}.lookupValue`);
      expect(await refusal("POST", "/notifications", send(zone.id, "lamp"))).toBe(`${at}.type`);
    },
  ],
  [
    "inferredMessageType: Text, Audio or TextAndAudio, with Image appended",
    async () => {
      const text = { name: "F", subject: "S" };
      expect((await create("/message-templates", text)).inferredMessageType).toBe("Text");
      const image = { ...text, image: new Blob([PNG_BYTES]) };
      expect((await create("/message-templates", form(image))).inferredMessageType).toBe("TextImage");
      const both = { ...image, audio: new Blob([createWav(0.1)]) };
      expect((await create("/message-templates", form(both))).inferredMessageType).toBe("TextAndAudioImage");
    },
  ],
  [
    "ttsType none, subject, body, subject-and-body, custom-text, custom-ssml; priority critical, normal",
    async () => {
      for (const ttsType of ["none", "subject", "body", "subject-and-body", "custom-text", "custom-ssml"]) {
        expect((await create("/message-templates", { name: "F", subject: "S", ttsType })).ttsType).toBe(ttsType);
      }
      const wrong = { name: "F", subject: "S", ttsType: "custom-song" };
      expect(await refusal("POST", "/message-templates", wrong)).toBe("400 invalid-value ttsType");
      const urgent = { name: "F", subject: "S", priority: "urgent" };
      expect(await refusal("POST", "/message-templates", urgent)).toBe("400 invalid-value priority");
    },
  ],
  [
    "alert tones: a name that is none is a 400",
    async () => {
      const at = "/message-templates";
      for (const alertTone of ["default", "chime", "silent"]) await create(at, { name: "F", subject: "S", alertTone });
      expect(await refusal("POST", at, { name: "F", subject: "S", alertTone: "no-tone" })).toBe(
        "400 invalid-value alertTone",
      );
    },
  ],
];

/** A value that the template does not allow to customise must equal the template's or is a 400. */
const CUSTOMIZABLE = CUSTOMIZABLE_FIELDS.map(
  (field): Row => [
    `${field}Customizable`,
    async () => {
      const template = await create("/message-templates", { name: "F", subject: "S", distributionListIds: [list.id] });
      const value = OTHERS[field]();
      const body =
        value instanceof Blob
          ? () => form({ messageTemplateId: template.id, draft: "true", [field]: value })
          : () => ({ messageTemplateId: template.id, draft: true, userIds: [], [field]: value });
      const before = template[field] ?? null;
      const same =
        before === value || (Array.isArray(before) && Array.isArray(value) && before.length === value.length);
      if (same) {
        expect((await call("POST", "/notifications", body())).status).toBe(200);
        return;
      }
      expect(await refusal("POST", "/notifications", body())).toBe(`400 invalid-value ${field}`);
      const flags = { [`${field}Customizable`]: true, userIdsCustomizable: true };
      await call("PUT", `/message-templates/${template.id}`, {
        ...flags,
        userIds: field === "distributionListIds" ? [people[1]?.id] : [],
      });
      const given =
        field === "distributionListIds" ? { messageTemplateId: template.id, draft: true, [field]: value } : body();
      const taken = await call("POST", "/notifications", given);
      expect([taken.status, taken.body.message]).toEqual([200, undefined]);
    },
  ],
);

const NOTIFICATIONS: readonly Row[] = [
  [
    "variables without value are removed with a warning, or refused if the template says so",
    async () => {
      const userIds = [people[0]?.id];
      const texts = { subject: "Meet {{who}} at {{place}}", body: "{{what}}", ttsCustomContent: "At {{place}}." };
      const template = await create("/message-templates", { name: "Variables", ...texts, userIds });
      expect(template.unfilledVariablesPolicy).toBe("remove");
      const sent = await create("/notifications", { messageTemplateId: template.id, customVars: { who: "Ann" } });
      expect(sent).toMatchObject({
        ...{ subject: "Meet Ann at", body: "", ttsCustomContent: "At." },
        unfilledVariables: ["place", "what"],
        warnings: [
          { code: "not-deliverable" },
          {
            code: "unfilled-variables",
            message: "Variables without value were removed from the message: place, what.",
          },
        ],
      });
      expect((await call("GET", `/notifications/${sent.id}`)).body.unfilledVariables).toEqual(["place", "what"]);
      const bare = await create("/message-templates", { name: "Bare", subject: "{{title}}", userIds });
      expect((await create("/notifications", { messageTemplateId: bare.id })).subject).toBe("Bare");

      await call("PUT", `/message-templates/${template.id}`, { unfilledVariablesPolicy: "refuse" });
      const input = { messageTemplateId: template.id, customVars: { who: "Ann", what: "x" } };
      expect(await refusal("POST", "/notifications", input)).toBe("400 required customVars.place");
      const draft = await create("/notifications", { ...input, draft: true });
      expect(draft.unfilledVariables).toEqual(["place"]);
      const full = await create("/notifications", { ...input, customVars: { who: "A", what: "", place: "B" } });
      expect(full).toMatchObject({ subject: "Meet A at B", body: "", unfilledVariables: [] });
    },
  ],
  [
    "customVars, extensionSettingsOverrides and each additionalDeviceRecipients may be JSON text",
    async () => {
      const users = { userIds: [people[0]?.id], draft: true };
      const sent = await create("/notifications", {
        ...users,
        subject: "Meet at {{place}}",
        customVars: '{"place":"Gym"}',
        extensionSettingsOverrides: "{}",
      });
      expect(sent).toMatchObject({ subject: "Meet at Gym", customVars: { place: "Gym" } });
      expect(await refusal("POST", "/notifications", { ...users, subject: "s", customVars: "{" })).toBe(
        "400 invalid-value customVars",
      );
      const additionalDeviceRecipients = ['{"type":"device","lookupValue":"zone:none"}'];
      expect(await refusal("POST", "/notifications", { ...users, subject: "s", additionalDeviceRecipients })).toBe(
        "400 invalid-value additionalDeviceRecipients[0].lookupValue",
      );
    },
  ],
  [
    "no recipient at all is a 400; no subject is a 400; subject <= 255, body <= 10000",
    async () => {
      const users = [people[0]?.id];
      expect(await refusal("POST", "/notifications", { subject: "s" })).toMatch(/^400 required/);
      expect(await refusal("POST", "/notifications", { userIds: users })).toBe("400 required subject");
      const long = { userIds: users, subject: "s".repeat(256), body: "b".repeat(10_001) };
      expect((await call("POST", "/notifications", long)).body.errors).toMatchObject([
        { field: "subject" },
        { field: "body" },
      ]);
    },
  ],
  [
    "confirmations are counted: confirmationResults maps each option to a count; the last answer of a recipient counts",
    async () => {
      const { id } = await create("/notifications", {
        subject: "Safe?",
        distributionListIds: [list.id],
        confirmationRequestId: request.id,
      });
      const at = `/notifications/${id}`;
      await shows(at, (body) => expect(body.recipientCount).toBe(3));
      expect((await call("GET", at)).body).toMatchObject({ confirmationResults: { Yes: 0, No: 0 }, readCount: 0 });
      const answer = (who: number, option: string) =>
        call(
          "POST",
          `/users/${people[who]?.id}/notifications/${id}/activities`,
          { type: "confirmation", details: { confirmationOption: option } },
          people[who]?.token,
        );
      for (const [who, option] of [
        [0, "Yes"],
        [1, "Yes"],
        [2, "No"],
        [1, "No"],
      ] as const) {
        expect((await answer(who, option)).status).toBe(200);
      }
      expect((await answer(0, "Maybe")).status).toBe(400);
      const read = { type: "set-read-status", details: { readStatus: "read" } };
      await call("POST", `/users/${people[0]?.id}/notifications/${id}/activities`, read, people[0]?.token);
      await shows(at, (body) =>
        expect(body).toMatchObject({ confirmationResults: { Yes: 1, No: 2 }, readCount: expect.any(Number) }),
      );
      const { data } = (await call("GET", `${at}/recipients?confirmationResponse=Yes`)).body;
      expect(data).toMatchObject([{ name: "Ann", confirmationResponse: "Yes", read: true }]);
      expect((await call("GET", `${at}/recipients?read=true`)).body.total).toBeGreaterThan(0);
    },
  ],
  [
    "draft: a preview, nothing is sent",
    async () => {
      const body = await create("/notifications", { subject: "d", distributionListIds: [list.id], draft: true });
      expect(body).toMatchObject({ draft: true, recipientCount: 3 });
      expect((await call("GET", `/notifications/${body.id}/recipients`)).body.total).toBe(0);
      expect((await call("GET", "/notifications?draft=true")).body.data.map((row) => row.id)).toContain(body.id);
    },
  ],
  [
    "customVars replaces {{name}} in subject and body",
    async () => {
      const body = {
        subject: "In {{room}}",
        body: "{{what}}!",
        customVars: { room: "214", what: "Fire" },
        userIds: [people[0]?.id],
      };
      expect(await create("/notifications", body)).toMatchObject({ subject: "In 214", body: "Fire!" });
    },
  ],
  [
    "activities: POST type expire or abort, others are a 400; abortedAt; expiresAt from expiration",
    async () => {
      const { id } = await create("/notifications", { subject: "s", userIds: [people[0]?.id], expiration: 3600 });
      const { body } = await call("GET", `/notifications/${id}`);
      const after = Date.parse(String(body.expiresAt)) - Date.parse(String(body.createdAt));
      expect(Math.abs(after - 3_600_000)).toBeLessThan(1_000);
      expect(await refusal("POST", `/notifications/${id}/activities`, { type: "info" })).toBe("400 invalid-value type");
      expect((await create(`/notifications/${id}/activities`, { type: "abort" })).type).toBe("abort");
      expect((await call("GET", `/notifications/${id}`)).body.abortedAt).toEqual(expect.any(String));
      expect((await call("GET", `/notifications/${id}/activities?type=abort`)).body.total).toBe(1);
      expect(await refusal("PUT", `/notifications/${id}`, {})).toBe("405 method-not-allowed");
    },
  ],
  [
    "includeUsers, includeDistributionLists … =false leave the embeds out; includeBinaryUrls shows addresses",
    async () => {
      const files = { image: new Blob([PNG_BYTES]), "userIds[]": String(people[0]?.id) };
      const { id } = await create("/notifications", form({ subject: "s", ...files }));
      const flags =
        "includeUsers=false&includeDistributionLists=false&includeDeviceGroups=false&includeAreasOfInterest=false";
      const bare = (await call("GET", `/notifications/${id}?${flags}&includeCollaborationGroups=false`)).body;
      for (const name of ["users", "distributionLists", "deviceGroups", "areasOfInterest", "collaborationGroups"]) {
        expect(bare).not.toHaveProperty(name);
      }
      const shown = (await call("GET", `/notifications/${id}?includeBinaryUrls=true&includeDomain=true`)).body;
      expect(shown.imageFiles).toMatchObject([{ url: expect.stringContaining(`/notifications/${id}/image`) }]);
      expect(shown.domain).toMatchObject({ id: daemon.first.domainId });
      expect((await call("GET", `/notifications/${id}/image`)).headers.get("content-type")).toBe("image/png");
      expect(await refusal("GET", `/notifications/${id}/audio`)).toBe("404 not-found");
    },
  ],
  [
    "activities name their endpoint with includeEndpointName",
    async () => {
      const { id } = await create("/notifications", { subject: "s", userIds: [people[0]?.id] });
      await shows(`/notifications/${id}/activities?includeEndpointName=true`, (body) => {
        expect(body.total).toBeGreaterThan(0);
        for (const row of body.data) expect(row).toHaveProperty("endpointName");
      });
    },
  ],
];

const FAMILIES = { "confirmation requests": REQUESTS, templates: TEMPLATES, enforced: CUSTOMIZABLE, NOTIFICATIONS };
for (const [title, rows] of Object.entries(FAMILIES)) {
  describe(title.toLowerCase(), () => {
    it.each(rows)("%s", async (_claim, check) => void (await check()));
  });
}
