/** Where the adapters find the steps of a receiver; of the registry, so that two copies of the package understand each other. */
export const processorKey: unique symbol = Symbol.for('@bestnotify/receiver/processor') as never;
