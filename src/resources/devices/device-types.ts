/**
 * Kinds of devices that an endpoint serves.
 * @source docs/decisions/0042-api-contract.md, `/v1/extensions/{extensionId}/devices`
 */
export const DEVICE_TYPES = ["phones", "speakers", "plugins", "idns"] as const;
