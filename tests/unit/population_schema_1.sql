BEGIN TRANSACTION;
CREATE TABLE about (
	name VARCHAR(32) NOT NULL, 
	value VARCHAR(64) NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "about" VALUES('schema','1');
CREATE TABLE designs (
	"key" VARCHAR(64) NOT NULL, 
	template VARCHAR(64) NOT NULL, 
	chip VARCHAR(64) NOT NULL, 
	chip_name TEXT NOT NULL, 
	contract VARCHAR(64) NOT NULL, 
	operator TEXT NOT NULL, 
	extents TEXT NOT NULL, 
	dtypes TEXT NOT NULL, 
	threads INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	imported BOOLEAN NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	assignment TEXT NOT NULL, 
	objective FLOAT, 
	bound FLOAT, 
	qualified BOOLEAN NOT NULL, 
	artifact TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "designs" VALUES('eee96d47c854b95dcf5ad149cc761eea988b71d3b57560e59a7d865791432e94','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','here','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','gemv','{"K":100,"N":100}','{"W":"f32","x":"f32","y":"f32"}',1,'run 1',0,'2026-01-01T00:00:00.000000+00:00','{"T":4}',1.5,1.25,1,'sha');
CREATE TABLE entries (
	digest VARCHAR(64) NOT NULL, 
	language VARCHAR(16) NOT NULL, 
	name VARCHAR(64) NOT NULL, 
	text TEXT NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	place VARCHAR(16) NOT NULL, 
	reason TEXT NOT NULL, 
	verdict VARCHAR(16) NOT NULL, 
	interface TEXT NOT NULL, 
	problem VARCHAR(64) NOT NULL, 
	niche VARCHAR(64) NOT NULL, 
	signature TEXT NOT NULL, 
	proof TEXT NOT NULL, 
	proof_digest VARCHAR(64) NOT NULL, 
	context VARCHAR(64) NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	PRIMARY KEY (digest)
);
INSERT INTO "entries" VALUES('253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','fw','rows','template rows : operator -> mapping

object row
  "An agent has a row."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  chip      cores >= 1

decisions
  T in {4, 8}

constraints
  C1: T <= 8

requires
  tile: T >= 1

program
  par grid (i) in ceil(N/T):
    alloc acc[T] register
    acc[r] = 0
    for k in 0 .. K:
      acc[r] += W[i*T+r, k] * x[k] over (r < min(T, N - i*T))
    y[i*T+r] = acc[r] clip
','76f392b7e9ecc87b07279d91af5bcb4718448ea9b4b5d66675cecc5c86d63287','admitted','K1, K2 and K3 are proved','proved','W[N,K] x[K] y[N]','29e631c475e1f126325ec046f14575d2cdc9e4c8374ef08e7376abc70c821fdd','af564a40ec894fe882d8344b3d5e2a4899ff15e6596336287306b3e39fec05d7','{"algorithm":["computes *","grid over free by tile","line of rank 1: sum over 1","loop over reduced","passes: 1","step operator -> mapping","sums in register over 2 loops"],"placement":["register[tile] of agent"],"resources":["grid"],"reuse":["copies register to global, kept over 1 loops","global of rank 1 used along 1 axes, kept over 1 loops","global of rank 2 used along 0 axes, kept over 0 loops"]}','{"obligations":[{"condition":"coverage","evidence":"proved","group":"K1","name":"goal of K1","verdict":"proved"},{"condition":"coverage","evidence":"proved","group":"K2","name":"goal of K2","verdict":"proved"},{"condition":"coverage","evidence":"proved","group":"K3","name":"goal of K3","verdict":"proved"}],"solver":"z3","template":"253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5","verdict":"proved"}','08947ad2f0f3e1846a9de7f4ba1e1890fef04588743d7b55ff1a435b8c3fe0b2','e44d8345b05d2a1b605d59470384f893f7185b0c723097c05b2ff721c745b952','2026-01-01T00:00:00.000000+00:00');
INSERT INTO "entries" VALUES('7d4f3f809295698224834819e5c47449fe68aac51597d5e6242235071cf79020','fw','split','template split : operator -> mapping

object part
  "K is cut into parts."

scope
  workload  y[N] = sum(k < K) W[N,k] * x[k]
  extents   N >= 1, K >= 0
  chip      cores >= 1

decisions
  Q in {4, 8}

program
  alloc part[N, ceil(K/Q)] scratch
  par grid (i, z) in N, ceil(K/Q):
    alloc acc[1] register
    acc[r] = 0
    for k in 0 .. min(Q, K - z*Q):
      acc[r] += W[i, z*Q+k] * x[z*Q+k]
    part[i, z] = acc[0]
  par grid (i) in N:
    alloc total[1] register
    total[r] = 0
    for z in 0 .. ceil(K/Q):
      total[r] += part[i, z]
    y[i] = total[0]
','eb45661cbbd206c668cf77a9f6f9874ff13c2c67cd8ad89d6eb75fdb1f9de8c8','shelf','the template is refuted','refuted','W[N,K] x[K] y[N]','29e631c475e1f126325ec046f14575d2cdc9e4c8374ef08e7376abc70c821fdd','0533d5b5e4b4a569ddd809cbb7ff427a4bb3a8706995434ce22109954ec036f6','{"algorithm":["computes *","grid over free","grid over free, reduced by tile","line of rank 1: sum over 1","loop over reduced by tile","passes: 2","step operator -> mapping","sums in register over 2 loops","sums in register over 3 loops"],"placement":["register[number] of agent","scratch[free, reduced by tile] of all"],"resources":["grid"],"reuse":["copies register to global, kept over 1 loops","copies register to scratch, kept over 2 loops","global of rank 1 used along 1 axes, kept over 1 loops","global of rank 2 used along 1 axes, kept over 0 loops","scratch of rank 2 used along 1 axes, kept over 0 loops"]}','','','','2026-01-01T00:00:00.000000+00:00');
INSERT INTO "entries" VALUES('da026033fec03dda00bf29836163467c722333da0b230ab207e5073463b67e26','c','f','void f(void) {}
','950a83647fa420f0df22e7db5a9a445d1acbaa59e1a7e2f2d102353f54477a0d','shelf','not proved yet','tested','','','','','','','','2026-01-01T00:00:00.000000+00:00');
CREATE TABLE facts (
	"key" VARCHAR(64) NOT NULL, 
	template VARCHAR(64) NOT NULL, 
	chip VARCHAR(64) NOT NULL, 
	chip_name TEXT NOT NULL, 
	contract VARCHAR(64) NOT NULL, 
	operator TEXT NOT NULL, 
	extents TEXT NOT NULL, 
	dtypes TEXT NOT NULL, 
	threads INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	imported BOOLEAN NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	assignment TEXT NOT NULL, 
	machine TEXT NOT NULL, 
	quantity TEXT NOT NULL, 
	value FLOAT NOT NULL, 
	low FLOAT, 
	high FLOAT, 
	unit TEXT NOT NULL, 
	evidence VARCHAR(16) NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "facts" VALUES('e683f5f81902a4e935e8089159f0de65e13f101973cfcc8a06bf1012c5d3a1ed','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','here','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','gemv','{"K":100,"N":100}','{"W":"f32","x":"f32","y":"f32"}',1,'run 1: measure/0',0,'2026-01-01T00:00:00.000000+00:00','{"T":4}','bench','seconds',1.25,1.0,1.5,'s','measured');
INSERT INTO "facts" VALUES('e462878e86cfe98caba3bfa7a3434e4e048b4be564f4acf7b00eb998c4ec574b','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb','there','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','gemv','{"K":100,"N":100}','{"W":"f32","x":"f32","y":"f32"}',1,'run 1: measure/0',1,'2026-01-01T00:00:00.000000+00:00','{"T":4}','bench','seconds',0.1,NULL,NULL,'s','measured');
CREATE TABLE held (
	"key" VARCHAR(64) NOT NULL, 
	template VARCHAR(64) NOT NULL, 
	chip VARCHAR(64) NOT NULL, 
	chip_name TEXT NOT NULL, 
	contract VARCHAR(64) NOT NULL, 
	operator TEXT NOT NULL, 
	extents TEXT NOT NULL, 
	dtypes TEXT NOT NULL, 
	threads INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	imported BOOLEAN NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	structure TEXT NOT NULL, 
	held BOOLEAN NOT NULL, 
	detail TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "held" VALUES('72fdde9105be0c619627043d74de78a19f424838264fb5e8a65dd6f18874d218','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','here','cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc','gemv','{"K":100,"N":100}','{"W":"f32","x":"f32","y":"f32"}',1,'run 1',0,'2026-01-01T00:00:00.000000+00:00','dominance',1,'');
CREATE TABLE met (
	"key" VARCHAR(64) NOT NULL, 
	template VARCHAR(64) NOT NULL, 
	condition VARCHAR(64) NOT NULL, 
	text TEXT NOT NULL, 
	point TEXT NOT NULL, 
	replayed BOOLEAN NOT NULL, 
	source TEXT NOT NULL, 
	imported BOOLEAN NOT NULL, 
	trace TEXT NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "met" VALUES('8d2edbe06ec684142b83f3f7d9c81f5ab484c9c8a96b25ff11e9b696e98ec5d9','7d4f3f809295698224834819e5c47449fe68aac51597d5e6242235071cf79020','coverage','A cell twice.','{"N":1}',1,'run 1',0,'["a","b"]','2026-01-01T00:00:00.000000+00:00');
CREATE TABLE steps (
	"key" VARCHAR(64) NOT NULL, 
	child VARCHAR(64) NOT NULL, 
	parent VARCHAR(64) NOT NULL, 
	rule TEXT NOT NULL, 
	proposer TEXT NOT NULL, 
	why TEXT NOT NULL, 
	run TEXT NOT NULL, 
	created VARCHAR(32) NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "steps" VALUES('cdeb356f3bade41a2a533387af2e02f06f60f4c4bca2289a096133484e53ba39','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','','written','tests','','','2026-01-01T00:00:00.000000+00:00');
INSERT INTO "steps" VALUES('f861ad39dd3f87ad23caf170097cf9c0545536460b8d69c0a7772bf71dd35a23','7d4f3f809295698224834819e5c47449fe68aac51597d5e6242235071cf79020','253e8779601eb06728f31346529df39874acc208b0bd52cabd093a80ec66b0c5','split','library','why','run 1','2026-01-01T00:00:00.000000+00:00');
INSERT INTO "steps" VALUES('0e1c640a211f8a6971ab3ea2421085c147b02d18e44a407796b35edb2a602427','da026033fec03dda00bf29836163467c722333da0b230ab207e5073463b67e26','','written','tests','','','2026-01-01T00:00:00.000000+00:00');
CREATE INDEX entries_by_problem ON entries (problem, niche);
CREATE INDEX ix_steps_parent ON steps (parent);
CREATE INDEX ix_steps_child ON steps (child);
CREATE INDEX ix_facts_template ON facts (template);
CREATE INDEX ix_designs_template ON designs (template);
CREATE INDEX ix_held_template ON held (template);
CREATE INDEX ix_met_template ON met (template);
CREATE INDEX ix_met_condition ON met (condition);
COMMIT;
