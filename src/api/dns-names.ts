/** The names that Kubernetes allows, as patterns: the CRDs have the same. */
export const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
export const subdomain = `${label}(\\.${label})*`;

const labelPattern = new RegExp(`^${label}$`);
const subdomainPattern = new RegExp(`^${subdomain}$`);

/** What a namespace may be called. */
export const isDnsLabel = (text: string): boolean => text.length <= 63 && labelPattern.test(text);

/** What a Secret may be called. */
export const isDnsSubdomain = (text: string): boolean => text.length <= 253 && subdomainPattern.test(text);
