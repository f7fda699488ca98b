/** Kinds of devices that an endpoint serves. @source service-api.md, /v1/extensions/{extensionId}/devices */
export const DEVICE_TYPES = ["phones", "speakers", "plugins", "idns"] as const;
