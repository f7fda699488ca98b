/** A device in the API's spelling; every attribute value is text. */
export interface ApiDevice {
  type: "phones" | "speakers";
  deviceIdentifier: string;
  description: string;
  attributes: Record<string, string>;
}
