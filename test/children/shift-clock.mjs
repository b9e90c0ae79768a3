// Preloaded into a process: its wall clock is off by SHIFT_MS. The monotonic clock stays as it is, as on a real machine.
const shiftMs = Number(process.env.SHIFT_MS);
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...given) {
    super(...(given.length === 0 ? [RealDate.now() + shiftMs] : given));
  }
  static now() {
    return RealDate.now() + shiftMs;
  }
};
