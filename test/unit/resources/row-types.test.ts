import { describe, expectTypeOf, it } from "vitest";
import type devices from "../../../src/resources/devices/devices.ts";
import type distributionLists from "../../../src/resources/lists/distribution-lists.ts";
import type messageTemplates from "../../../src/resources/messages/message-templates.ts";
import type notifications from "../../../src/resources/notifications/notifications.ts";
import type subscriptions from "../../../src/resources/people/subscriptions.ts";
import type users from "../../../src/resources/people/users.ts";
import type { StoredFile } from "../../../src/schema/field.ts";
import type { RowOf } from "../../../src/schema/resource.ts";

// The compiler checks these; at run time they always pass.
describe("row types", () => {
  it("distinguish required, defaulted and nullable fields of a user", () => {
    type User = RowOf<typeof users>;
    expectTypeOf<User["name"]>().toEqualTypeOf<string>();
    expectTypeOf<User["email"]>().toEqualTypeOf<string | null>();
    expectTypeOf<User["type"]>().toEqualTypeOf<"regular" | "anonymous" | "application" | "endpoint" | "support">();
    expectTypeOf<User["lock"]>().toEqualTypeOf<{ start?: number | null; end?: number | null } | null>();
    expectTypeOf<User["passwordHash"]>().toEqualTypeOf<string | null>();
    expectTypeOf<User>().not.toHaveProperty("isLocked");
  });

  it("map references and lists of them", () => {
    expectTypeOf<RowOf<typeof subscriptions>["userId"]>().toEqualTypeOf<string>();
    expectTypeOf<RowOf<typeof devices>["endpointId"]>().toEqualTypeOf<string>();
    expectTypeOf<RowOf<typeof notifications>["initiatorId"]>().toEqualTypeOf<string | null>();
    expectTypeOf<RowOf<typeof notifications>["userIds"]>().toEqualTypeOf<string[]>();
    expectTypeOf<RowOf<typeof notifications>["t0"]>().toEqualTypeOf<number | null>();
  });

  it("contain the generated flags of a template", () => {
    type Template = RowOf<typeof messageTemplates>;
    expectTypeOf<Template["ttsVoiceIdCustomizable"]>().toEqualTypeOf<boolean>();
    expectTypeOf<Template["bodyDisplay"]>().toEqualTypeOf<"show" | "hide" | "auto">();
    expectTypeOf<Template["audio"]>().toEqualTypeOf<StoredFile | null>();
    expectTypeOf<Template>().not.toHaveProperty("nameCustomizable");
  });

  it("contain the members of an object", () => {
    type Campaign = NonNullable<RowOf<typeof distributionLists>["campaign"]>;
    expectTypeOf<Campaign["enrollmentEndDate"]>().toEqualTypeOf<number | null | undefined>();
  });
});
