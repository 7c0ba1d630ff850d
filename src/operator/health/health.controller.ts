import { Controller, Get, Header, HttpException, Param } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  HealthCheckService,
  type HealthCheckResult,
  type HealthIndicatorResult,
  HealthIndicatorService,
} from '@nestjs/terminus';
import { edgeProblems } from '../../ingress/problems';
import type { DependencyHealth } from '../../platform/lane-registry';
import { PaymentError } from '../../shared/problem';
import { healthProblems } from './health.problems';
import { ProcessHealth, type Readiness } from './process-health';

@ApiTags('health')
@Controller('health')
export class HealthController {
  constructor(
    private readonly health: ProcessHealth,
    private readonly terminus: HealthCheckService,
    private readonly indicators: HealthIndicatorService,
  ) {}

  @Get()
  @Header('cache-control', 'no-store')
  @ApiOperation({ summary: 'Everything that this process knows of its health' })
  overview(): Promise<Record<string, unknown>> {
    return this.health.overview();
  }

  @Get('live')
  @Header('cache-control', 'no-store')
  @ApiOperation({ summary: 'Whether the process runs at all' })
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('cache-control', 'no-store')
  @ApiOperation({ summary: 'Whether the process takes work: 200, or 503' })
  async ready(): Promise<HealthCheckResult> {
    return this.check(await this.health.ready());
  }

  @Get('ready/:lane')
  @Header('cache-control', 'no-store')
  @ApiOperation({ summary: 'Whether one lane of the process takes work: 200, or 503' })
  async laneReady(@Param('lane') lane: string): Promise<HealthCheckResult> {
    const readiness = await this.health.laneReady(lane);
    if (readiness === null) throw new PaymentError(edgeProblems.notFound, 'This process does not host such a lane.');
    return this.check(readiness);
  }

  /** Terminus puts the checks together; where it finds fault the answer is a problem document like any other. */
  private async check({ ready, checks }: Readiness): Promise<HealthCheckResult> {
    try {
      const all = Object.values(checks);
      return await this.terminus.check(all.map((check) => () => this.indicate(check)));
    } catch (error) {
      if (ready || !(error instanceof HttpException)) throw error;
      const result = error.getResponse() as HealthCheckResult;
      throw new PaymentError(healthProblems.notReady, 'Send no work here at present.', {
        members: { checks: result.details },
      });
    }
  }

  private indicate({ name, status, detail }: DependencyHealth): HealthIndicatorResult {
    const session = this.indicators.check(name);
    const shown: Record<string, string> = detail === undefined ? {} : { detail };
    switch (status) {
      case 'up':
        return session.up(shown);
      case 'degraded':
        return session.degraded(shown);
      case 'down':
        return session.down(shown);
    }
  }
}
