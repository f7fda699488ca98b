import { expect, it } from "vitest";
import { createAttributeCheck } from "../../../src/devices/attribute-rules.ts";
import { deviceHooks } from "../../../src/devices/device-hooks.ts";

const CLAIMS = [
  { type: "phones", identifier: "^SEP" },
  { type: "speakers", identifier: "^zone:" },
  { type: "speakers", identifier: "^horn-" },
];

it.each([
  ["speakers", "hall", "deviceIdentifier", "No plugin serves speakers with the identifier hall; it must match ^zone: or ^horn-."],
  ["idns", "desk", "type", "No plugin serves the type idns."],
])("says of %s that nobody claims what would be served", (type, deviceIdentifier, field, words) => {
  const after = { type, deviceIdentifier, attributes: {} };
  const { beforeWrite } = deviceHooks(
    () => null,
    () => CLAIMS,
  );
  expect(() => beforeWrite?.({ op: "create", after } as never, {} as never, {} as never)).toThrow(
    `Field ${field} is not valid. ${words}`,
  );
});

it("takes what an appliance tells of a device that no plugin here serves", () => {
  const { beforeWrite } = deviceHooks(
    () => null,
    () => CLAIMS,
  );
  const after = { type: "idns", deviceIdentifier: "desk", attributes: {}, provider: "desktop" };
  const tx = { all: () => [], one: () => null } as never;
  beforeWrite?.({ op: "create", after } as never, tx, { replicated: true } as never);
  expect(after).toMatchObject({ provider: "desktop", icopId: "desk" });
});

it.each([
  ["Port", "99999999", "Must be a whole number from 1 to 65535."],
  ["Port", "5004x", "Must be a whole number from 1 to 65535."],
  ["Codec", "G711", "Must be one of PCMU, G722."],
  ["Group", "10.0.0.1", "Must be an IPv4 multicast address."],
])("takes no %s %s of a device whose plugin asks for another", (name, value, words) => {
  const attributes = {
    Port: { from: 1, to: 65_535 },
    Codec: { values: ["PCMU", "G722"] },
    Group: { pattern: "^2(2[4-9]|3[0-9])\\.", words: "an IPv4 multicast address" },
  };
  const good = { type: "speakers", deviceIdentifier: "zone:hall", attributes: { Port: "5004", Group: "239.1.1.1" } };
  const check = createAttributeCheck(() => [{ type: "speakers", identifier: "^zone:", attributes }]);
  const bad = { ...good, attributes: { ...good.attributes, [name]: value } };
  check(good, null);
  expect(() => check(bad, good)).toThrow(`Field attributes.${name} is not valid. ${words}`);
  // Stored before there was such a rule: other changes are taken.
  check(bad, bad);
  check({ ...bad, type: "phones" }, null);
});
