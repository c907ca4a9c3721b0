import { startControlPlane } from "../control-plane.ts";

/** A control plane for the tests to orphan: tells its process ids and waits to be killed. */
const plane = await startControlPlane({ dir: process.argv[2] ?? "" });
process.send?.(Object.values(plane.components).map((component) => component?.pid));
setInterval(() => plane, 60_000);
