import { Body, Controller, Get, HttpCode, Inject, Param, Put, UseGuards } from '@nestjs/common';
import { RouteSchema } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import { edgeProblems } from '../../ingress/problems';
import { FaultSwitches } from '../../platform/faults';
import { LaneRegistry } from '../../platform/lane-registry';
import { ProcessFaultSwitch } from '../../platform/process-faults';
import { type PlatformSettings, SETTINGS } from '../../platform/settings-token';
import { PaymentError } from '../../shared/problem';
import { OperatorGuard } from '../access/operator.guard';
import { faultsBody, type FaultsBody } from './faults.schemas';

/** How tests and drills break a lane from outside (contract 13); 404 unless the process was started for that. */
@ApiExcludeController()
@UseGuards(OperatorGuard)
@Controller('faults')
export class FaultsController {
  constructor(
    private readonly switches: FaultSwitches,
    private readonly processFaults: ProcessFaultSwitch,
    private readonly lanes: LaneRegistry,
    @Inject(SETTINGS) private readonly settings: PlatformSettings,
  ) {}

  @Get(':lane')
  show(@Param('lane') lane: string): FaultsBody {
    this.requireLane(lane);
    const { latencyMs, hang, database } = this.switches.of(lane).current();
    const { blockEventLoopMs, fillHeap, exhaustDescriptors } = this.processFaults.current();
    return {
      latency_ms: latencyMs,
      hang,
      database,
      block_event_loop_ms: blockEventLoopMs,
      fill_heap: fillHeap,
      exhaust_descriptors: exhaustDescriptors,
    };
  }

  @Put(':lane')
  @HttpCode(200)
  @RouteSchema({ body: faultsBody })
  set(@Param('lane') lane: string, @Body() body: unknown): FaultsBody {
    this.requireLane(lane);
    const faults = faultsBody.parse(body);
    this.switches.of(lane).set({ latencyMs: faults.latency_ms, hang: faults.hang, database: faults.database });
    this.processFaults.set({
      blockEventLoopMs: faults.block_event_loop_ms,
      fillHeap: faults.fill_heap,
      exhaustDescriptors: faults.exhaust_descriptors,
    });
    return faults;
  }

  private requireLane(lane: string): void {
    if (!this.settings.faultsEnabled) {
      throw new PaymentError(edgeProblems.notFound, 'This process was started without PAYMENT_FAULTS=1.');
    }
    if (this.lanes.find(lane) === undefined) {
      throw new PaymentError(edgeProblems.notFound, 'This process does not host such a lane.');
    }
  }
}
