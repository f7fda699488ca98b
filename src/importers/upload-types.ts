import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import devices from "../resources/devices/devices.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import dialcastDialingConfigurations from "../resources/inputs/dialcast-dialing-configurations.ts";
import { UPLOAD_TYPES } from "../resources/uploads/bulk-uploads.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import { methodsOf } from "../schema/catalogue.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AccessScope } from "../store/store.ts";

/** A resource type that can be uploaded. */
export interface UploadType {
  resource: AnyResource;
  /** Fields that may be columns. */
  fields: Readonly<Record<string, Field>>;
  /** Fixed values of every row. */
  fixed: Readonly<Record<string, unknown>>;
  /** System values of every row. */
  system: Readonly<Record<string, unknown>>;
}

/** Throws CallerError for a type that cannot be uploaded or is not declared. */
export function resolveUploadType(name: string, catalogue: Catalogue, endpointId: string): UploadType {
  if (name === "speakers" && catalogue.has(devices.name)) {
    const { extensionId: _extension, endpointId: _endpoint, type: _type, ...fields } = devices.fields;
    const system = { extensionId: ONPREM_EXTENSION_ID, endpointId };
    return { resource: catalogue.byName(devices.name), fields, fixed: { type: "speakers" }, system };
  }
  const family = resourceNameOf(name);
  if (!isUploadType(name) || !catalogue.has(family)) {
    const kinds = UPLOAD_TYPES.filter((each) => catalogue.has(resourceNameOf(each)));
    throw invalidValue(
      "resourceType",
      sentence("field.must-be-one-of-kinds-found-name", { kinds: kinds.join(", "), name }),
    );
  }
  const resource = catalogue.byName(family);
  return { resource, fields: resource.fields, fixed: {}, system: {} };
}

function isUploadType(name: string): boolean {
  return (UPLOAD_TYPES as readonly string[]).includes(name);
}

function resourceNameOf(name: string): string {
  if (name === "speakers") return devices.name;
  return name === "dialing-configurations" ? dialcastDialingConfigurations.name : name;
}

/** True if `scope` may create such rows one by one. */
export function canCreateRows({ resource, system }: UploadType, scope: AccessScope): boolean {
  const path = resource.paths.find((each) => methodsOf(each).includes("post"));
  if (!path) return false;
  return scope.allows("post", `/${path.at.replace(/\{(\w+)\}/g, (_, name: string) => String(system[name] ?? "*"))}`);
}
