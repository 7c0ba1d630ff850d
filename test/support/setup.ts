import { runClosers } from './closers';

// The first use in a worker creates a cluster, a template database and, for a server, its pools.
jest.setTimeout(60_000);

afterAll(runClosers, 60_000);
