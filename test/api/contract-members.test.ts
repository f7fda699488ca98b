import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestDaemon, type TestDaemon } from "../support/daemon.ts";
import { eventually } from "../support/timeouts.ts";

let daemon: TestDaemon;
const ids: Record<string, string> = {};
beforeAll(async () => {
  daemon = await startTestDaemon();
  await makeOneOfEach();
});
afterAll(() => daemon.stop());

/** What a representation of each family must hold beside id, createdAt, permissions; words as the API description has them. */
const FAMILIES: readonly [family: string, at: () => string, members: string][] = [
  [
    "Session",
    () => "/session",
    "accessToken userId providerId providerName email name isOnprem isLicenseValid idleTimeout idleTimeoutCustom",
  ],
  [
    "User",
    () => `/users/${ids.user}`,
    "name email lock passwordResetRequired loadSourceId securityGroups subscriptions type selfRegistered idleTimeout isLicensed isLocked",
  ],
  [
    "Distribution list",
    () => `/distribution-lists/${ids.list}`,
    "name isSubscribable campaign.welcomeMessage campaign.inactiveMessage campaign.url campaign.subscribeTag campaign.defaultNotificationDays campaign.enrollmentEndDate isShared loadSourceId syncId",
  ],
  [
    "Subscription",
    () => `/users/${ids.user}/subscriptions/${ids.subscription}`,
    "userId distributionListId subscriptionEndDate user.createdAt user.id user.email user.name distributionList.createdAt distributionList.id distributionList.name",
  ],
  [
    "User subscription",
    () => `/distribution-lists/${ids.list}/user-subscriptions/${ids.subscription}`,
    "userId distributionListId subscriptionEndDate user.createdAt user.id user.email user.name user.type",
  ],
  [
    "User device",
    () => `/users/${ids.user}/devices/${ids.userDevice}`,
    "userId type name deviceIdentifier disabled build client clientIdentifier os presence verified",
  ],
  ["User token", () => `/users/${ids.user}/tokens/${ids.token}`, "name expires type tokenType scope client"],
  ["Security group", () => `/security-groups/${ids.group}`, "name superGroup"],
  [
    "Member",
    () => `/security-groups/${ids.group}/members/${ids.member}`,
    "securityGroupId userId user.id user.name user.email user.type",
  ],
  [
    "Group of a user",
    () => `/users/${ids.user}/security-groups/${ids.group}`,
    "securityGroupId userId securityGroup.id securityGroup.name securityGroup.superGroup",
  ],
  [
    "Permission of a group",
    () => `/security-groups/${ids.group}/permissions/${ids.permission}`,
    "securityGroupId spec verb",
  ],
  ["Permission of a user", () => `/users/${ids.user}/user-permissions/${ids.userPermission}`, "userId spec verb"],
  [
    "Confirmation request",
    () => `/confirmation-requests/${ids.request}`,
    "name options expirationPeriod initiateTrackingOptions isShared dynamicReplies.0.optionLabel dynamicReplies.0.permissions escalationRules.0.subject escalationRules.0.permissions",
  ],
  [
    "Dynamic reply",
    () => `/confirmation-requests/${ids.request}/dynamic-replies/${ids.reply}`,
    "confirmationRequestId optionLabel quota first rest every",
  ],
  [
    "Escalation rule",
    () => `/confirmation-requests/${ids.request}/escalation-rules/${ids.rule}`,
    "confirmationRequestId delay optionLabel comparison comparisonValue subject body distributionListIds deviceGroupIds areaOfInterestIds userIds collaborationGroupIds image audio",
  ],
  [
    "Message template",
    () => `/message-templates/${ids.template}`,
    `subject body confirmationRequestId distributionListIds userIds deviceGroupIds areaOfInterestIds collaborationGroupIds
     incidentPlanId audio image audioFiles imageFiles imageMimeType ttsType ttsVoiceId ttsCustomContent voice expiration alertTone
     metadata metadataCustomizable followUp optOut inferredMessageType notificationProfileId syncId distributionLists.0.name users
     deviceGroups areasOfInterest collaborationGroups confirmationRequest.options incidentPlan audioSize imageSize audioHash imageHash
     priority ttsSpeed imageAltText isShared`,
  ],
  [
    "Notification",
    () => `/notifications/${ids.notification}`,
    `messageTemplateId messageTemplate.name subject body distributionListIds distributionLists.0.name userIds confirmationRequestId
     confirmationRequest.options confirmationResults.Yes recipientCount readCount smsSent smsReceived image audio imageMimeType initiatorId
     initiator.id initiator.name initiator.email expiresAt abortedAt priority progress.percentComplete notificationSource incidentId
     scenarioNotificationId parentNotificationId draft drill followUpAllowed customVars confirmableCount`,
  ],
  [
    "Notification of a user",
    () => `/users/${ids.user}/notifications/${ids.notification}`,
    "subject confirmationResponse confirmationResponseTimestamp dynamicReplyText readTimestamp",
  ],
  [
    "Recipient",
    () => `/notifications/${ids.notification}/recipients/${ids.recipient}`,
    "name email type read confirmationResponse confirmationResponseTimestamp dynamicReply",
  ],
  [
    "Extension",
    () => `/extensions/${daemon.first.extensionId}`,
    "name type deviceType config globalDisabled disabled deviceLimit failureCode",
  ],
  [
    "Endpoint",
    () => `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}`,
    "name devices config isCucmMigrated buildInfo.version status redReasons yellowReasons",
  ],
  [
    "Endpoint activity",
    () => `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}/activities/${ids.activity}`,
    "type value referenceType referenceId state severity",
  ],
  [
    "Device",
    () => `/devices/${ids.device}`,
    "icopId deviceIdentifier description type endpointId extensionId defunct isLicensed attributes.Name",
  ],
  [
    "Device group",
    () => `/device-groups/${ids.deviceGroup}?includeDeviceCounts=true`,
    `name filterType logicalExpression filters.0.attribute baseDeviceGroupIds baseDeviceGroups additionIds exclusionIds additions.0.icopId
     exclusions numPhones numSpeakers numIdns numPlugins isShared`,
  ],
];

const FLAGGED =
  "subject body audio image confirmationRequestId distributionListIds userIds deviceGroupIds areaOfInterestIds collaborationGroupIds incidentPlanId expiration alertTone ttsVoiceId ttsCustomContent";

describe("a representation holds what the API description shows", () => {
  it.each(FAMILIES)("%s", async (family, at, members) => {
    const { status, body } = await daemon.call("GET", at());
    expect(status).toBe(200);
    const common = family === "Session" ? [] : ["id", "createdAt", "updatedAt", "permissions"];
    const missing = [...common, ...members.trim().split(/\s+/)].filter((member) => valueAt(body, member) === undefined);
    expect(missing).toEqual([]);
  });

  it("both flags for each part of a template", async () => {
    const { body } = await daemon.call("GET", `/message-templates/${ids.template}`);
    for (const name of FLAGGED.split(" ")) {
      expect([name, body[`${name}Customizable`], body[`${name}Display`]]).toEqual([name, false, "auto"]);
    }
  });

  it("times with milliseconds and a trailing Z", async () => {
    for (const [, at] of FAMILIES.slice(1)) {
      const { body } = await daemon.call("GET", at());
      expect(`${body.createdAt} ${body.updatedAt}`).toMatch(/^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ?){2}$/);
    }
  });

  it("permissions from get, put, delete alone", async () => {
    for (const [, at] of FAMILIES.slice(1)) {
      const { body } = await daemon.call("GET", at());
      expect(["get", "put", "delete"]).toEqual(expect.arrayContaining(body.permissions as string[]));
      expect(body.permissions).toContain("get");
    }
  });
});

function valueAt(body: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown> | null)?.[name], body);
}

async function make(name: string, path: string, body: object): Promise<void> {
  const answer = await daemon.call("POST", path, body);
  expect([path, answer.status, answer.body.message]).toEqual([path, 200, undefined]);
  ids[name] = answer.body.id as string;
}

async function makeOneOfEach(): Promise<void> {
  const onprem = `/extensions/${daemon.first.extensionId}/endpoints/${daemon.first.endpointId}`;
  await make("user", "/users", { name: "Ann", email: "ann@example.org" });
  await make("list", "/distribution-lists", { name: "Staff", campaign: { welcomeMessage: "Hello" } });
  await make("subscription", `/users/${ids.user}/subscriptions`, { distributionListId: ids.list });
  await make("userDevice", `/users/${ids.user}/devices`, { type: "Android", name: "Phone", deviceIdentifier: "a" });
  await make("token", `/users/${ids.user}/tokens`, { name: "app" });
  await make("group", "/security-groups", { name: "Senders" });
  await make("member", `/security-groups/${ids.group}/members`, { userId: ids.user });
  await make("permission", `/security-groups/${ids.group}/permissions`, { verb: "get", spec: "/users/*" });
  await make("userPermission", `/users/${ids.user}/user-permissions`, { verb: "get", spec: "/users/*" });
  await make("request", "/confirmation-requests", { name: "Safe?", options: ["Yes", "No"] });
  await make("reply", `/confirmation-requests/${ids.request}/dynamic-replies`, { optionLabel: "Yes", every: "Good" });
  const rule = { delay: 60, optionLabel: "No", comparison: "GT", comparisonValue: 1, subject: "Help" };
  await make("rule", `/confirmation-requests/${ids.request}/escalation-rules`, rule);
  await make("template", "/message-templates", {
    name: "Fire",
    subject: "Fire",
    confirmationRequestId: ids.request,
    distributionListIds: [ids.list],
  });
  await make("notification", "/notifications", { messageTemplateId: ids.template });
  await make("activity", `${onprem}/activities`, { type: "collect-logs" });
  const phone = {
    type: "phones",
    deviceIdentifier: "SEP001122334455",
    description: "Room 1",
    attributes: { Name: "SEP" },
  };
  await make("device", `${onprem}/devices`, phone);
  await make("deviceGroup", "/device-groups", {
    name: "Phones",
    filters: [{ attribute: "Name", comparison: "EQUALS", value: "SEP" }],
    additionIds: ["SEP001122334455"],
  });
  const recipients = `/notifications/${ids.notification}/recipients`;
  await eventually(async () => {
    ids.recipient = (await daemon.call<{ data: { id: string }[] }>("GET", recipients)).body.data[0]?.id ?? "";
    return ids.recipient !== "";
  });
}
