/** Device types of an endpoint. @source docs/decisions/0042-api-contract.md, `/v1/extensions/{extensionId}/devices` */
export const DEVICE_TYPES = ["phones", "speakers", "plugins", "idns"] as const;
