// Runs the program once per batch: fetch, decode, issue, three cycles per descriptor. A descriptor
// is issued in order, when its engine and the engines of its `wait` bits are idle; one whose mask
// misses the phase is skipped. `error` stops the machine at a descriptor that this design cannot
// execute.
module sequencer #(parameter int DESIGN = 0, parameter int LD = 8) (
  input  logic          clk,
  input  logic          rst,
  input  logic          start,
  input  logic [4:0]    idle_engines,
  input  logic [2:0]    phase,
  input  logic          last_batch,
  input  logic [255:0]  d,
  output logic [LD-1:0] pc,
  output logic          fetch,
  output logic [4:0]    issue,
  output logic          issued,
  output logic          skipped,
  output logic          batch_end,
  output logic          running,
  output logic          error,
  output logic [2:0]    state);
  localparam logic [2:0] STOPPED = 0, FETCH = 1, DECODE = 2, ISSUE = 3, NEXT = 4, ERROR = 5;
  logic [3:0] op;
  logic [4:0] target, needed;
  logic hit, known, go;
  assign op = d[adagp_pkg::F_OP +: 4];
  assign hit = |(d[adagp_pkg::F_MASK +: 3] & phase);
  always_comb begin
    known = 1'b1;
    target = 5'd0;
    needed = d[adagp_pkg::F_WAIT +: 5];
    case (op)
      4'(adagp_pkg::OP_BARRIER): target = 5'd0;
      4'(adagp_pkg::OP_TILE): target = 5'(1 << adagp_pkg::ENGINE_MAIN);
      4'(adagp_pkg::OP_PTILE): begin
        target = 5'(1 << adagp_pkg::ENGINE_PRED);
        known = DESIGN == adagp_pkg::DESIGN_MAX;
      end
      4'(adagp_pkg::OP_DMA): target = 5'(1 << adagp_pkg::ENGINE_DMA);
      4'(adagp_pkg::OP_VEC): target = 5'(1 << adagp_pkg::ENGINE_VEC);
      4'(adagp_pkg::OP_REORG): target = 5'(1 << adagp_pkg::ENGINE_REORG);
      4'(adagp_pkg::OP_END): needed = 5'h1f;
      default: known = 1'b0;
    endcase
    go = state == ISSUE && hit && known && ((target | needed) & ~idle_engines) == 5'd0;
    issue = go ? target : 5'd0;
  end
  assign issued = go;
  assign skipped = state == ISSUE && !hit;
  assign batch_end = state == NEXT;
  assign running = state != STOPPED && state != ERROR;
  assign error = state == ERROR;
  assign fetch = state == FETCH;
  always_ff @(posedge clk) begin
    if (rst) begin
      state <= STOPPED;
      pc <= {LD{1'b0}};
    end else case (state)
      STOPPED: if (start) begin pc <= {LD{1'b0}}; state <= FETCH; end
      FETCH: state <= DECODE;
      DECODE: state <= ISSUE;
      ISSUE:
        if (go && op == 4'(adagp_pkg::OP_END)) state <= NEXT;
        else if (go || !hit) begin pc <= pc + 1'b1; state <= FETCH; end
        else if (!known) state <= ERROR;
      NEXT: begin pc <= {LD{1'b0}}; state <= last_batch ? STOPPED : FETCH; end
      default: state <= ERROR;
    endcase
  end
endmodule
