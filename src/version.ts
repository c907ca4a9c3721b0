import packageJson from "../package.json" with { type: "json" };

/** Of this build: esbuild puts the JSON into the bundle. */
export const { version } = packageJson;
