/** A parameter of a report; its value is a text. */
export interface PluginReportParameter {
  /** A word of letters, digits and underscores that starts with a letter. */
  name: string;
  description: string;
  required: boolean;
}

/** A report as it is listed. */
export interface PluginReport {
  /** Identifies the report among those of the plugin: a word of lower-case letters, digits and hyphens. */
  key: string;
  name: string;
  description: string;
  columns: readonly string[];
  parameters: readonly PluginReportParameter[];
}

/** What a caller asks of a report. */
export interface PluginReportRequest {
  /** Values by name; those that were not given are absent. */
  parameters: Readonly<Record<string, string>>;
  /** Id of the caller. */
  userId: string | null;
}

/** A table cell of a report. */
export type PluginReportCell = string | number | boolean | null;

/**
 * Returns the lines of a report, each with a cell per column; at most 10,000. Times out after 15 s. The text of an error
 * is shown to the caller.
 */
export type PluginReportHandler = (request: PluginReportRequest) => Promise<readonly (readonly PluginReportCell[])[]>;
