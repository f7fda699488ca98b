/** A device in the API's format; all attribute values are strings. */
export interface ApiDevice {
  type: "phones" | "speakers";
  deviceIdentifier: string;
  description: string;
  attributes: Record<string, string>;
}
