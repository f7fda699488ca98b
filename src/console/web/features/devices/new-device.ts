/** What the form for a new device holds. */
export interface NewDevice {
  kind: "zone" | "phone";
  description: string;
  group: string;
  port: string;
  phoneName: string;
  address: string;
}

/** An empty form. */
export const NEW_DEVICE: NewDevice = {
  kind: "zone",
  description: "",
  group: "",
  port: "20480",
  phoneName: "",
  address: "",
};

/** Request body for the device. @source docs/decisions/0042-api-contract.md */
export function deviceBody(device: NewDevice): Record<string, unknown> {
  const { description } = device;
  if (device.kind === "phone") {
    return {
      type: "phones",
      deviceIdentifier: device.phoneName.trim().toUpperCase(),
      description,
      attributes: { Name: device.phoneName.trim().toUpperCase(), IPAddress: device.address.trim() },
    };
  }
  const slug = description.trim().replace(/[^\p{L}\p{N}]+/gu, "-");
  return {
    type: "speakers",
    deviceIdentifier: `zone:${slug}`,
    description,
    attributes: { Group: device.group.trim(), Port: device.port.trim(), Codec: "PCMU" },
  };
}
