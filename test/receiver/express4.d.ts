// The alias that package.json gives to the older major version; for our purposes it has the same types.
declare module 'express4' {
  import express from 'express';
  export default express;
}
