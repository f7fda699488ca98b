import brandings from "../resources/branding/brandings.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ResourceHooks, StoreReader } from "../store/store.ts";

/** Branding of the pages that are shown before login. */
export interface Branding {
  companyName: string | null;
  companyEmail: string | null;
  companyPhone: string | null;
  customUrl: string | null;
  /** SHA-256 of the logo, hex; null without a logo. */
  logoSha: string | null;
  logoAltText: string;
  /** `#rrggbb` */
  primaryColor: string;
  secondaryColor: string;
}

/** Defaults; the colours are those of the console. */
const DEFAULT_BRANDING = {
  defaultLogo: "/icon.svg",
  defaultLogoAltText: "Carillon",
  defaultPrimaryColor: "#24408e",
  defaultSecondaryColor: "#e6ebf8",
} as const;

/** Adds the defaults to branding rows. */
export const brandingHooks: ResourceHooks<typeof brandings> = {
  present: (rows) => rows.map(() => ({ defaults: DEFAULT_BRANDING })),
};

/** The effective branding row: the most recently changed one. */
export function findBrandingRow(reader: StoreReader): RowOf<typeof brandings> | null {
  const newest = reader.one<{ pk: number }>("SELECT pk FROM brandings ORDER BY updated_at DESC, pk DESC LIMIT 1");
  return newest && reader.getByPk(brandings, newest.pk);
}

/** The effective branding, with defaults. */
export function readBranding(reader: StoreReader): Branding {
  const row = findBrandingRow(reader);
  return {
    companyName: row?.companyName || null,
    companyEmail: row?.companyEmail || null,
    companyPhone: row?.companyPhone || null,
    customUrl: row?.customUrl || null,
    logoSha: row?.logo?.sha256 ?? null,
    logoAltText: row?.logoAltText || row?.companyName || DEFAULT_BRANDING.defaultLogoAltText,
    primaryColor: row?.primaryColor || DEFAULT_BRANDING.defaultPrimaryColor,
    secondaryColor: row?.secondaryColor || DEFAULT_BRANDING.defaultSecondaryColor,
  };
}
