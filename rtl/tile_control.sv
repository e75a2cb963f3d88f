// Steps of one tile: load weights (COLS cycles), stream n0*n1*n2 rows, flush (ROWS+COLS+1), drain
// the weight gradients (COLS), end (1). Row addresses travel along two pipes: lane k reads its
// memory k cycles after lane 0, and the same pipe is the write address when the result leaves the
// array.
module tile_control #(parameter int ROWS = 4, parameter int COLS = 5) (
  input  logic         clk,
  input  logic         rst,
  input  logic         issue,
  input  logic [255:0] d,
  output logic         idle,
  output logic         loading,
  output logic         streaming,
  output logic         draining,
  output logic [1:0]   mode,
  output logic         acc_in,
  output logic         psrc,
  output logic [15:0]  w_read,       // row of W in this cycle
  output logic [15:0]  o_write,      // row of O in this cycle
  output logic         o_we,
  output logic         pass,
  output logic         latch_w,
  output logic         load_acc,
  output logic         clear_acc,
  output logic         left_is_w,
  output logic [ROWS+COLS:0]         valid,    // stage i: a row that was started i + 1 cycles ago
  output logic [(ROWS+COLS+1)*16-1:0] x_addr,
  output logic [(ROWS+COLS+1)*16-1:0] y_addr);
  localparam int STAGES = ROWS + COLS + 1;
  localparam logic [2:0] IDLE = 0, LOAD = 1, STREAM = 2, FLUSH = 3, DRAIN = 4, LAST = 5;
  logic [2:0] state;
  logic [15:0] n, row, yb, wb, x_now;
  logic [47:0] counts, strides;
  logic clear, drain, first, last, loop_last_inner, loop_last_outer, loop_first_inner;
  logic loading_2, draining_1, draining_2;
  logic [15:0] n_1;

  loop_counter #(.LEVELS(3)) rows_of_x (
    .clk(clk), .load(issue && idle), .step(streaming), .base(d[adagp_pkg::F_XB +: 16]),
    .n(counts), .s(strides), .addr(x_now), .first_inner(loop_first_inner),
    .last_inner(loop_last_inner), .last_outer(loop_last_outer), .last(last));

  assign idle = state == IDLE;
  assign loading = state == LOAD;
  assign streaming = state == STREAM;
  assign draining = state == DRAIN;
  assign w_read = wb + 16'(COLS - 1) - n;
  assign pass = left_is_w || draining_1;
  assign latch_w = loading_2 && !left_is_w;
  assign load_acc = draining_1 && !draining_2;
  assign o_we = draining_2;

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
      n <= 16'd0;
    end else begin
      n <= n + 16'd1;
      case (state)
        IDLE: begin
          n <= 16'd0;
          row <= 16'd0;
          if (issue) begin
            mode <= d[adagp_pkg::F_MODE +: 2];
            acc_in <= d[adagp_pkg::F_ACC_IN];
            clear <= d[adagp_pkg::F_CLEAR];
            drain <= d[adagp_pkg::F_DRAIN];
            psrc <= d[adagp_pkg::F_PSRC];
            counts <= {d[adagp_pkg::F_N2 +: 16], d[adagp_pkg::F_N1 +: 16],
                       d[adagp_pkg::F_N0 +: 16]};
            strides <= {d[adagp_pkg::F_S2 +: 16], d[adagp_pkg::F_S1 +: 16],
                        d[adagp_pkg::F_S0 +: 16]};
            yb <= d[adagp_pkg::F_YB +: 16];
            wb <= d[adagp_pkg::F_WB +: 16];
            state <= d[adagp_pkg::F_LOAD_W] ? LOAD : STREAM;
          end
        end
        LOAD: if (n == 16'(COLS - 1)) begin n <= 16'd0; state <= STREAM; end
        STREAM: begin
          row <= row + 16'd1;
          if (last) begin n <= 16'd0; state <= FLUSH; end
        end
        FLUSH: if (n == 16'(ROWS + COLS)) begin n <= 16'd0; state <= drain ? DRAIN : LAST; end
        DRAIN: if (n == 16'(COLS - 1)) begin n <= 16'd0; state <= LAST; end
        default: state <= IDLE;
      endcase
    end
  end

  assign first = streaming && row == 16'd0;
  always_ff @(posedge clk) begin
    left_is_w <= loading && !rst;
    loading_2 <= left_is_w && !rst;
    draining_1 <= draining && !rst;
    draining_2 <= draining_1 && !rst;
    n_1 <= n;
    o_write <= wb + 16'(COLS - 1) - n_1;
    clear_acc <= first && clear;
    valid <= rst ? {STAGES{1'b0}} : {valid[STAGES-2:0], streaming};
    x_addr <= {x_addr[(STAGES-1)*16-1:0], x_now};
    y_addr <= {y_addr[(STAGES-1)*16-1:0], yb + row};
  end
endmodule
