import { expect, it } from "vitest";
import { deviceBehaviour } from "../../../src/devices/device-behaviour.ts";

const CLAIMS = [
  { type: "phones", identifier: "^SEP" },
  { type: "speakers", identifier: "^zone:" },
  { type: "speakers", identifier: "^horn-" },
];

it.each([
  ["speakers", "hall", "Nothing serves speakers named hall; their deviceIdentifier fits ^zone: or ^horn-."],
  ["idns", "desk", "Nothing serves idns."],
])("says of %s that nobody claims what would be served", (type, deviceIdentifier, words) => {
  const after = { type, deviceIdentifier, attributes: {} };
  const { beforeWrite } = deviceBehaviour(
    () => null,
    () => CLAIMS,
  );
  expect(() => beforeWrite?.({ op: "create", after } as never, {} as never, {} as never)).toThrow(
    `Field type is not valid. ${words}`,
  );
});
