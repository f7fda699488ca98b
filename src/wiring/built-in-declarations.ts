/** All resource declarations by path. A module of its own, so that it is loaded only when needed. */
export const BUILT_IN_DECLARATION_MODULES: Readonly<Record<string, unknown>> = import.meta.glob(
  "../resources/**/*.ts",
  {
    eager: true,
  },
);
